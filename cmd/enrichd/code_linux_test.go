package main

import "testing"

func TestCodeIsWhatCannotBeWritten(t *testing.T) {
	const program = "/usr/bin/enrichd"
	for line, want := range map[string]uintptr{
		"00400000-01bb9000 r-xp 00000000 fe:00 11593320                           /usr/bin/enrichd":           0x17b9000,
		"01bb9000-037eb000 r--p 017b9000 fe:00 11593320                           /usr/bin/enrichd":           0x1c32000,
		"037eb000-0399b000 rw-p 033eb000 fe:00 11593320                           /usr/bin/enrichd":           0,
		"7f0000000000-7f0000001000 r-xp 00000000 fe:00 7                          /lib/libc.so.6":             0,
		"c000000000-c001400000 rw-p 00000000 00:00 0":                                                         0,
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]":                 0,
		"nonsense r-xp 00000000 fe:00 11593320                                    /usr/bin/enrichd":           0,
		"00400000-01bb9000 r-xp 00000000 fe:00 11593320                           /usr/bin/enrichd (deleted)": 0,
	} {
		from, length, ok := codeIn(line, program)
		if ok != (want > 0) || ok && (length != want || from == 0) {
			t.Errorf("%q: %x bytes from %x, %t; want %x", line, length, from, ok, want)
		}
	}
}

// TestReleasedCodeStillRuns fails by a crash if what was released does not come
// back.
func TestReleasedCodeStillRuns(t *testing.T) {
	releaseCode()
	if _, _, ok := codeIn("00400000-01bb9000 r-xp 00000000 fe:00 1 /a", "/a"); !ok {
		t.Error("code that was released reads a line differently")
	}
}
