package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCodeIsWhatWasNeverWritten(t *testing.T) {
	const program, clean = "/usr/bin/enrichd", "Anonymous: 0 kB\nSwap: 0 kB\n"
	for text, want := range map[string]area{
		"00400000-01bb9000 r-xp 00000000 fe:00 11593320                           /usr/bin/enrichd\nSize: 24292 kB\n" + clean + "VmFlags: rd ex mr mw me\n": {0x400000, 0x17b9000},
		"01bb9000-037eb000 r--p 017b9000 fe:00 11593320                           /usr/bin/enrichd\n" + clean:                                               {0x1bb9000, 0x1c32000},
		"037eb000-0399b000 rw-p 033eb000 fe:00 11593320                           /usr/bin/enrichd\n" + clean:                                               {},
		"01bb9000-037eb000 r--p 017b9000 fe:00 11593320                           /usr/bin/enrichd\nAnonymous: 160 kB\nSwap: 0 kB\n":                        {},
		"01bb9000-037eb000 r--p 017b9000 fe:00 11593320                           /usr/bin/enrichd\nAnonymous: 0 kB\nSwap: 4 kB\n":                          {},
		"01bb9000-037eb000 r--p 017b9000 fe:00 11593320                           /usr/bin/enrichd\nSize: 24292 kB\n":                                       {},
		"7f0000000000-7f0000001000 r-xp 00000000 fe:00 7                          /lib/libc.so.6\n" + clean:                                                 {},
		"c000000000-c001400000 rw-p 00000000 00:00 0\n" + clean:                                                                                             {},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n" + clean:                                                     {},
		"nonsense r-xp 00000000 fe:00 11593320                                    /usr/bin/enrichd\n" + clean:                                               {},
		"00400000-01bb9000 r-xp 00000000 fe:00 11593320                           /usr/bin/enrichd (deleted)\n" + clean:                                     {},
	} {
		got := codeIn(strings.NewReader(text), program)
		if want == (area{}) && len(got) > 0 || want != (area{}) && !slices.Equal(got, []area{want}) {
			t.Errorf("%q: %x, want %x", text, got, want)
		}
	}
}

// TestReleasedCodeStillRuns finds the code that it runs, and fails by a crash if
// what was released does not come back.
func TestReleasedCodeStillRuns(t *testing.T) {
	releaseCode()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	if len(codeIn(maps, program)) == 0 {
		t.Error("none of the program's code is found")
	}
}
