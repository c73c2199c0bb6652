package results

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestRevisionIsWhatTheCompilerWrote(t *testing.T) {
	for want, settings := range map[string][]debug.BuildSetting{
		"2fe2e7271802":       {{Key: "vcs.revision", Value: "2fe2e72718020000000000000000000000000000"}, {Key: "vcs.modified", Value: "false"}},
		"2fe2e7271802-dirty": {{Key: "vcs.revision", Value: "2fe2e72718020000000000000000000000000000"}, {Key: "vcs.modified", Value: "true"}},
		Unknown:              nil,
	} {
		if got := revision(settings); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	self, err := os.Executable() // tests carry no revision
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{self, "no such file"} {
		if got := BuiltFrom(file); got != Unknown {
			t.Errorf("%s: %s, want %s", file, got, Unknown)
		}
	}
}
