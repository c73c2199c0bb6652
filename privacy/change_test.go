package privacy

import (
	"bytes"
	"strings"
	"testing"
)

func TestChangesJoinInAnyOrder(t *testing.T) {
	tags := NewTagger(pepper)
	ada := tags.of("ada@orchard.example")
	changes := []change{{ada, 10}, {ada, -20}, {ada, 20}, {ada, 15}, {ada, -5}}
	for i := range changes {
		list := startList(t, Config{})
		for j := range changes {
			if err := list.merge(changes[(i+j*2)%len(changes)], ""); err != nil {
				t.Fatal(err)
			}
		}
		if list.stamps[ada] != 20 || list.Len() != 1 {
			t.Errorf("from %d on they make %d", i, list.stamps[ada])
		}
	}
}

// TestALineIsWhatItSays changes every character of a line.
func TestALineIsWhatItSays(t *testing.T) {
	tags := NewTagger(pepper)
	for _, c := range []change{{tags.of("ada@orchard.example"), 1}, {tags.of("acme.example"), -1 << 62}} {
		line := tags.write(c)
		if read, err := tags.read(line); err != nil || read != c {
			t.Fatalf("%v reads as %v, %v", c, read, err)
		}
		for i := range line {
			other := []byte(line)
			other[i] ^= 1
			if _, err := tags.read(string(other)); err == nil {
				t.Errorf("%q passes", other)
			}
		}
		if _, err := NewTagger("another pepper").read(line); err == nil {
			t.Error("it passes under another pepper")
		}
	}
}

// FuzzReadAll checks that nothing upsets the reader of a list's file, and that
// what it takes is what we wrote.
func FuzzReadAll(f *testing.F) {
	tags := NewTagger(pepper)
	line := tags.write(change{tags.of("ada@orchard.example"), 1_700_000_000_000_000}) + "\n"
	f.Add([]byte(""))
	f.Add([]byte(line))
	f.Add([]byte(line + line[:20]))
	f.Add([]byte(strings.Replace(line, "+", "-", 1)))
	f.Add([]byte(tags.write(change{Tag{}, 0}) + "\n"))
	f.Add(bytes.Repeat([]byte("+"), 100_000))
	f.Fuzz(func(t *testing.T, text []byte) {
		var written strings.Builder
		whole, err := tags.readAll(bytes.NewReader(text), func(c change) { written.WriteString(tags.write(c) + "\n") })
		if written.String() != string(text[:whole]) {
			t.Errorf("%q reads as %q", text[:whole], written.String())
		}
		if err == nil && bytes.IndexByte(text[whole:], '\n') >= 0 {
			t.Errorf("whole lines were left out: %q", text[whole:])
		}
	})
}
