package tlsclient_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/tlsclient"
)

func TestEveryProblemIsNamed(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(none, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		files tlsclient.Files
		want  []string
	}{
		{tlsclient.Files{}, nil},
		{tlsclient.Files{Authorities: none}, []string{"--ca: " + none + " holds no certificate"}},
		{tlsclient.Files{Authorities: "missing.pem", Certificate: none, Key: none}, []string{"--ca: open missing.pem", "--cert: tls: "}},
		{tlsclient.Files{Certificate: none}, []string{"--cert: certificate and key go together"}},
		{tlsclient.Files{Key: none}, []string{"--cert: certificate and key go together"}},
	} {
		config, err := c.files.Config("--ca", "--cert")
		if config == nil || (err == nil) != (c.want == nil) {
			t.Fatalf("%+v: %v, %v", c.files, config, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q in it", c.files, err, want)
			}
		}
	}
}
