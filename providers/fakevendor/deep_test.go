package fakevendor

import (
	"strings"
	"testing"
)

// TestHugeAndDeepFilesAreRefused gives files that take a YAML parser seconds.
func TestHugeAndDeepFilesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", 40<<10),
		"braces":   strings.Repeat("{a: ", 20<<10),
		"dashes":   strings.Repeat("- ", 40<<10),
		"too long": strings.Repeat("# comment\n", 200<<10),
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "than") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(strings.NewReader("# ------------------------------------------------------------------------------\nseed: 1\n")); err != nil {
		t.Errorf("a ruled comment: %v", err)
	}
}
