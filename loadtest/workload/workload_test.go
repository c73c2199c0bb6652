package workload_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/workload"
)

func source(t *testing.T, w scenario.Workload) workload.Source {
	t.Helper()
	made, _, err := workload.New("Import", w)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestFreshLeadsNeverRepeat(t *testing.T) {
	fresh := source(t, scenario.Workload{Kind: "fresh"})
	seen := map[string]bool{}
	for n := range int64(10_000) {
		if seen[fresh(n)] {
			t.Fatalf("%s again", fresh(n))
		}
		seen[fresh(n)] = true
	}
}

func TestZipfRepeatsAFew(t *testing.T) {
	zipf := source(t, scenario.Workload{Kind: "zipf", People: 1000, Skew: 1.3})
	counts := map[string]int{}
	for n := range int64(10_000) {
		counts[zipf(n)]++
	}
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	if len(counts) > 1000 || len(counts) < 100 || most < 1000 {
		t.Errorf("%d people, the commonest %d of 10,000 times", len(counts), most)
	}
}

func TestCSVReadsItsColumn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leads.csv")
	for how, text := range map[string]string{
		"commas":            "Name, E-Mail\nAda,ada@acme.example\nBo,\nDi,  \nCy,cy@acme.example\n",
		"a byte order mark": "\ufeffE-Mail,Name\r\nada@acme.example,Ada\r\ncy@acme.example,Cy\r\n",
		"semicolons":        "Name;E-Mail\nAda;ada@acme.example\nCy;cy@acme.example\n",
		"tabs":              "Name\tE-Mail\nAda\tada@acme.example\nCy\tcy@acme.example\n",
		"a stray quote":     "Name,E-Mail\n\"Bo,bo@acme.example\nAda,ada@acme.example\nCy,cy@acme.example\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		rows := source(t, scenario.Workload{Kind: "csv", File: file, Column: "e-mail"})
		if rows(0) != "ada@acme.example" || rows(1) != "cy@acme.example" || rows(2) != rows(0) {
			t.Errorf("%s: read %q, %q, %q", how, rows(0), rows(1), rows(2))
		}
	}
	for text, want := range map[string]string{
		"":                            "the file has no rows",
		"Phone;Mail\n1;a@b.example\n": `no column "e-mail", but Phone;Mail; column says which one has the addresses`,
		"E-Mail,Name\n ,Ada\n":        "no row has an address",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := workload.New("x", scenario.Workload{Kind: "csv", File: file, Column: "e-mail"})
		if err == nil || err.Error() != file+": "+want {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestTheColumnHasAUsualName unless one is given, as in the service's imports.
func TestTheColumnHasAUsualName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leads.csv")
	if err := os.WriteFile(file, []byte("Name;E-Mail\nAda;ada@acme.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if rows := source(t, scenario.Workload{Kind: "csv", File: file}); rows(0) != "ada@acme.example" {
		t.Errorf("read %q", rows(0))
	}
}

// TestWhatHasNoEndIsNotRead: a pipe that nobody writes to would hang, and a
// device fill the memory.
func TestWhatHasNoEndIsNotRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pipe, "/dev/zero", t.TempDir()} {
		if _, _, err := workload.New("x", scenario.Workload{Kind: "csv", File: file}); err == nil {
			t.Errorf("%s was read", file)
		}
	}
}
