package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs a command line on an input.
func command(t *testing.T, in string, args ...string) (code int, out, failed string) {
	t.Helper()
	var outBuffer, errBuffer bytes.Buffer
	code = run(t.Context(), args, terminal{in: strings.NewReader(in), out: &outBuffer, err: &errBuffer})
	return code, outBuffer.String(), errBuffer.String()
}

func TestNormalizeAnswersEveryLineInOrder(t *testing.T) {
	in := strings.Join([]string{
		`{"id":"a","input":"Jane Doe <Jane.Doe@acme.example>"}`,
		`{"id":2,"input_b64":"` + base64.StdEncoding.EncodeToString([]byte("jane@acme.example\xff")) + `"}`,
		`not JSON`,
		``,
		`{"id":"c"}`,
		`{"id":"d","input_b64":"***"}`,
		`{"id":"e","input":"sales@gmail.com"}`,
	}, "\n")
	code, out, failed := command(t, in, "normalize", "--day", "2026-01-31")
	if code != 0 || failed != "" {
		t.Fatalf("exit code %d: %s", code, failed)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 7 {
		t.Fatalf("%d answers to 7 lines:\n%s", len(lines), out)
	}
	var answers [7]normalizeOutput
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	if a := answers[0]; string(a.ID) != `"a"` || a.Address != "jane.doe@acme.example" || a.Key != "e1:none:jane.doe@acme.example" || len(a.Repairs) == 0 || len(a.IdempotencyKey) != 64 {
		t.Errorf("answer = %s", lines[0])
	}
	for i, class := range map[int]string{1: "bad_encoding", 2: "syntax", 3: "syntax", 4: "syntax", 5: "syntax"} {
		if string(answers[i].Error) != class || answers[i].Key != "" || answers[i].Address != "" {
			t.Errorf("line %d: %s, want class %s and no key", i+1, lines[i], class)
		}
	}
	if a := answers[6]; !a.Role || !a.Free || a.Disposable {
		t.Errorf("answer = %s", lines[6])
	}
}

func TestNormalizeReadsRawCells(t *testing.T) {
	long := strings.Repeat("x", longestJSON+100)
	file := filepath.Join(t.TempDir(), "cells.txt")
	if err := os.WriteFile(file, []byte("john.doe+x@gmail.com\r\n\n"+long+"\n"+strings.Repeat("y", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, failed := command(t, "", "normalize", "--lines", "--profile", "consumer", file)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 4 {
		t.Fatalf("exit code %d, %d answers: %s", code, len(lines), failed)
	}
	for i, want := range []string{`"key":"e1:consumer:johndoe@gmail.com"`, `"error":"empty"`, `"error":"too_long"`, `"error":"too_long"`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("answer %d = %s, want %s", i+1, lines[i], want)
		}
	}
}

func TestNormalizeObeysTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	if err := os.WriteFile(file, []byte("email: {fold: consumer, accept_quoted_local: true, tld_check: warn}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, _ := command(t, `"john doe"@acme.example`, "normalize", "--lines", "--config", file)
	if !strings.Contains(out, `"key":"e1:consumer:`) {
		t.Errorf("answer = %s", out)
	}
	if _, out, _ = command(t, "jane@mail.acme.lan", "normalize", "--lines", "--config", file); !strings.Contains(out, `"unknown_tld":true`) {
		t.Errorf("a top-level domain that nobody knows: %s", out)
	}
}

func TestProvidersCommands(t *testing.T) {
	code, out, failed := command(t, "", "providers", "list", "--json")
	if code != 0 || !strings.Contains(out, `"name":"peopledatalabs"`) || !strings.Contains(out, `"person.title"`) {
		t.Errorf("list: exit code %d: %s%s", code, out, failed)
	}
	if code, out, failed = command(t, "", "providers", "check"); code != 0 || !strings.Contains(out, "hunter: ok") {
		t.Errorf("check: exit code %d: %s%s", code, out, failed)
	}
	dir := t.TempDir()
	exchanges := filepath.Join(dir, "cases.json")
	if err := os.WriteFile(exchanges, []byte(`{"name":"a miss","definition":"hunter","query":{"email":"jane.doe@acme.example"},"now":"2026-11-29T12:00:00Z",
		"exchanges":[{"status":404,"body":{"errors":[{"id":"not_found"}]}}],"expect":{"outcome":"miss"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, failed = command(t, "", "providers", "replay", exchanges); code != 0 || !strings.Contains(out, `"outcome":"miss"`) || strings.Count(out, "\n") != 1 {
		t.Errorf("replay: exit code %d: %s%s", code, out, failed)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.yaml"), []byte("name: broken\nsecret: [x]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, failed = command(t, "", "providers", "check", "--folder", dir, "broken"); code != 1 || !strings.Contains(failed, "broken.yaml:2") {
		t.Errorf("check of a broken definition: exit code %d: %s", code, failed)
	}
	code, out, failed = command(t, "", "providers", "check", "--json", "--folder", dir, "hunter", "broken", "nobody")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 1 || failed != "" || len(lines) != 3 || lines[0] != `{"name":"hunter","ok":true,"problems":[]}` {
		t.Fatalf("check as JSON: exit code %d: %s%s", code, out, failed)
	}
	for i, want := range []string{1: `broken.yaml","line":2`, 2: `"nobody","ok":false,"problems":[{`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("check as JSON: %s, want %s", lines[i], want)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	if code, _, failed := command(t, "", "config", "check", "../../config/testdata/unknown_key.yaml"); code != 1 || !strings.Contains(failed, "unknown_key.yaml:3") {
		t.Errorf("exit code %d: %s", code, failed)
	}
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	if err := os.WriteFile(file, []byte("log: {level: debug}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, failed := command(t, "", "config", "check", file); code != 0 || !strings.HasSuffix(out, ": ok\n") {
		t.Errorf("exit code %d: %s%s", code, out, failed)
	}
}
