package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// anew goes back to the beginning of a line and empties it.
const anew = "\r\x1b[K"

// narrow is a terminal in which a line that is written anew stays one: of a
// longer one only the last row could be emptied.
type narrow struct {
	io.Writer
	columns func() int
}

// stderr as a terminal; nil when it is none.
func stderr() io.Writer {
	fd := int(os.Stderr.Fd())
	if !term.IsTerminal(fd) {
		return nil
	}
	return narrow{os.Stderr, func() int {
		columns, _, err := term.GetSize(fd)
		if err != nil || columns <= 0 {
			return 80
		}
		return columns
	}}
}

// Write cuts what is written anew.
func (n narrow) Write(line []byte) (int, error) {
	text, again := strings.CutPrefix(string(line), anew)
	if !again {
		return n.Writer.Write(line)
	}
	if shown, most := []rune(text), max(n.columns()-1, 1); len(shown) > most {
		text = string(shown[:most-1]) + "…"
	}
	if _, err := io.WriteString(n.Writer, anew+text); err != nil {
		return 0, err
	}
	return len(line), nil
}

// sayWhatBegins names a run, so that nobody wonders at the silence before it.
func sayWhatBegins(w io.Writer, s *scenario.Scenario) {
	when := ""
	for _, vendor := range s.Vendors {
		if slices.ContainsFunc(vendor.Fake.Limits.Rules, func(l strict.Limit) bool { return l.Shape == strict.Fixed }) {
			when = ", once a window of the vendors' limits begins"
		}
	}
	fmt.Fprintf(w, "%s: %s of load%s\n", s.Name, s.Length, when)
}
