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

	code, out, failed := command(t, "Ada@orchard.example\northchard\nnobody@\northchard.example\n", "audit", "tag", "--config", ours)
	tags := strings.Fields(out)
	if code != 1 || len(tags) != 2 || !strings.Contains(failed, "line 2: ") || !strings.Contains(failed, "line 3: ") || strings.Contains(failed, "nobody") {
		t.Fatalf("exit code %d, %q, %s", code, out, failed)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), tags[0]) != 1 || strings.Contains(string(text), tags[1]) {
		t.Errorf("the tags %v are not those of the log:\n%s", tags, text)
	}

	if code, out, failed := command(t, "", "audit", "verify", "--config", ours, log); code != 0 || failed != "" || out != "1 complete erasures, 1 incomplete ones, 0 lines whose seal does not fit\n" {
		t.Errorf("exit code %d, %s%s", code, out, failed)
	}
	changed := strings.Replace(string(text), `"Done":false`, `"Done":true`, 1)
	if code, _, failed := command(t, "\n{}\nnothing\n"+changed, "audit", "verify", "--config", ours); code != 1 || !strings.Contains(failed, "standard input:5: the seal does not fit") {
		t.Errorf("a changed proof: exit code %d, %s", code, failed)
	}
	if code, out, _ := command(t, string(text), "audit", "verify", "--config", others); code != 1 || !strings.HasPrefix(out, "0 complete erasures, 0 incomplete ones, 2 lines") {
		t.Errorf("another pepper: exit code %d, %s", code, out)
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
