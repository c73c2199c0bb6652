package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/privacy"
)

// TestAuditTellsWhoAndWhether makes two erasures as the service does, one of them
// incomplete, finds the first by its tag and checks the proofs, which a change or
// another pepper makes worthless.
func TestAuditTellsWhoAndWhether(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "audit.jsonl")
	file := func(name, pepper string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		text := fmt.Sprintf("privacy:\n  pepper: %q\n  audit:\n    file: %s\n", pepper, log)
		if pepper == "" {
			text = "log:\n  level: info\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const pepper = "a pepper of this test alone"
	ours, others, none := file("ours.yaml", pepper), file("others.yaml", "another pepper, as long"), file("none.yaml", "")
	erase(t, privacy.Config{Pepper: pepper, Audit: privacy.AuditConfig{File: log}}, "ada@orchard.example", "eve@orchard.example")

	code, out, failed := command(t, "Ada@orchard.example\northchard\n\nnobody@\northchard.example\n", "audit", "tag", "--config", ours)
	tags := strings.Split(out, "\n")
	if code != 1 || len(tags) != 6 || tags[1]+tags[2]+tags[3]+tags[5] != "" ||
		!strings.Contains(failed, "line 2: ") || strings.Contains(failed, "line 3: ") || !strings.Contains(failed, "line 4: ") || strings.Contains(failed, "nobody") {
		t.Fatalf("exit code %d, %q, %s", code, out, failed)
	}
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if strings.Count(text, tags[0]) != 1 || strings.Contains(text, tags[4]) {
		t.Errorf("the tags %v are not those of the log:\n%s", tags, text)
	}

	const request = `{"at":"2026-11-30T10:00:00Z","outcome":"complete"}` + "\n"
	if code, out, failed := command(t, "", "audit", "verify", "--config", ours, log); code != 0 || failed != "" || out != "1 complete erasures, 1 incomplete ones, 0 other lines; 0 lines that were changed or not made here\n" {
		t.Errorf("exit code %d, %s%s", code, out, failed)
	}
	for name, test := range map[string]struct{ log, bad, counted string }{
		"a place that was reached":  {strings.Replace(text, `"Done":false`, `"Done":true`, 1), ":4: the seal does not fit", "1 complete erasures, 0 incomplete"},
		"a field more":              {strings.Replace(text, `{"at"`, `{"by":"eve","at"`, 1), ":3: the line is not as", "0 complete erasures, 1 incomplete"},
		"a subject before the last": {strings.Replace(text, `,"subject"`, `,"subject":"eve","subject"`, 1), ":3: the line is not as", "0 complete erasures, 1 incomplete"},
		"another name of a field":   {strings.Replace(text, `"outcome"`, `"Outcome"`, 1), ":3: the line is not as", "0 complete erasures, 1 incomplete"},
		"no JSON":                   {strings.Replace(text, `}`+"\n", "\n", 1), ":3: the line is not as", "0 complete erasures, 1 incomplete"},
		"two lines in one":          {strings.Replace(text, "\n", " ", 1), ":3: the line is not as", "0 complete erasures, 0 incomplete"},
		"a spoilt outcome":          {strings.Replace(text, `"outcome":"erasure"`, `"outcome":""`, 1), ":3: the line is not as", "0 complete erasures, 1 incomplete"},
		"another outcome":           {strings.Replace(text, `"outcome":"erasure"`, `"outcome":"hit"`, 1), ":3: the line is not as", "0 complete erasures, 1 incomplete"},
		"a second outcome":          {strings.Replace(text, `,"subject"`, `,"Outcome":"hit","subject"`, 1), ":3: the line is not as", "0 complete erasures, 1 incomplete"},
		"binary":                    {"\x1f\x8b\x08\x00", ":3: the line is not as", "0 complete erasures, 0 incomplete"},
	} {
		code, out, failed := command(t, request+"\r\n"+test.log, "audit", "verify", "--config", ours)
		if code != 1 || !strings.Contains(failed, "standard input"+test.bad) || !strings.HasPrefix(out, test.counted) || !strings.Contains(out, " 1 other lines; 1 lines") {
			t.Errorf("%s: exit code %d, %s%s", name, code, out, failed)
		}
	}
	if code, out, _ := command(t, text, "audit", "verify", "--config", others); code != 1 || !strings.HasPrefix(out, "0 complete erasures, 0 incomplete ones, 0 other lines; 2 lines") {
		t.Errorf("another pepper: exit code %d, %s", code, out)
	}
	if code, out, failed := command(t, "", "audit", "verify", "--config", ours, log+".gone", log); code != 1 || !strings.Contains(failed, ".gone") || !strings.HasPrefix(out, "1 complete") {
		t.Errorf("a file that is missing: exit code %d, %s%s", code, out, failed)
	}
	if code, out, failed := command(t, strings.Repeat("rubbish\n", 3*mostNamed), "audit", "verify", "--config", ours); code != 1 || !strings.Contains(out, fmt.Sprint(3*mostNamed, " lines that")) || strings.Count(failed, "\n") > mostNamed+1 {
		t.Errorf("rubbish: exit code %d, %s%s", code, out, failed)
	}
	for _, args := range [][]string{{"audit", "tag", "--config", none}, {"audit", "verify", "--config", none}, {"audit", "verify", "--config", ours, folder}} {
		if code, _, failed := command(t, "", args...); code != 1 || failed == "" {
			t.Errorf("%v: exit code %d, %s", args, code, failed)
		}
	}
}

// erase erases people; of all but the first one place cannot be reached.
func erase(t *testing.T, config privacy.Config, addresses ...string) {
	t.Helper()
	silent := slog.New(slog.DiscardHandler)
	list, err := privacy.NewSuppressions(privacy.Config{Pepper: config.Pepper}, silent)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := privacy.NewAudit(config, silent)
	if err != nil {
		t.Fatal(err)
	}
	var away error
	eraser := &privacy.Eraser{
		Tags: privacy.NewTagger(config.Pepper), Suppressions: list, Audit: audit, Log: silent,
		Places: []privacy.Place{{Name: "somewhere", Erase: func(context.Context, email.Key) (int, error) { return 1, away }}},
	}
	for _, text := range addresses {
		address, err := email.Normalize(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eraser.Erase(t.Context(), address.Key()); err != nil {
			t.Fatal(err)
		}
		away = os.ErrDeadlineExceeded
	}
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	if err := list.Close(); err != nil {
		t.Fatal(err)
	}
}
