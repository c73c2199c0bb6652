package main

import (
	"strings"
	"testing"
)

func TestTheLineOfProgressIsOneLine(t *testing.T) {
	var shown strings.Builder
	terminal := narrow{&shown, func() int { return 20 }}
	for line, want := range map[string]string{
		anew + strings.Repeat("x", 200): anew + strings.Repeat("x", 18) + "…",
		anew + "short":                  anew + "short",
		"\n":                            "\n",
	} {
		shown.Reset()
		if n, err := terminal.Write([]byte(line)); n != len(line) || err != nil || shown.String() != want {
			t.Errorf("%q is shown as %q, %d, %v", line, shown.String(), n, err)
		}
	}
}
