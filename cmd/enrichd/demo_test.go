package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is output that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// find returns what the pattern's group matches.
func find(t *testing.T, text, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("nothing matches %s in:\n%s", pattern, text)
	}
	return match[1]
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDemoAndReadme runs the demo, and against it all that the README shows.
func TestDemoAndReadme(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, progress := &lockedBuffer{}, &lockedBuffer{}
	exited := make(chan int, 1)
	go func() {
		exited <- run(ctx, []string{"demo", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"}, terminal{out: out, err: progress})
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(2 * time.Minute); !strings.Contains(out.String(), "_control"); {
		select {
		case <-tick.C:
		case code := <-exited:
			t.Fatalf("the demo ended with %d:\n%s\n%s", code, out, progress)
		case <-limit:
			t.Fatalf("the demo did not get to serving on:\n%s\n%s", out, progress)
		}
	}
	shown := out.String()
	t.Run("table", func(t *testing.T) {
		if rows := strings.Count(shown[:strings.Index(shown, "\n\n")], "\n"); rows != 66 {
			t.Errorf("the table has %d rows, want the heading and 66 leads", rows+1)
		}
		if failed := find(t, shown, `, (\d+) failed`); failed != "0" {
			t.Errorf("%s leads failed:\n%s", failed, shown)
		}
		for _, vendor := range []string{"peopledatalabs", "hunter"} {
			numbers := strings.Fields(find(t, shown, vendor+`\s+(\d[^$]+)\$`)) // calls, 5xx, 429s, over its limit, paid twice
			if len(numbers) != 5 || numbers[3] != "0" || numbers[4] != "0" {
				t.Errorf("%s was called over its limit, or paid twice: %q", vendor, numbers)
			}
			if troubled := numbers[1] != "0" && numbers[2] != "0"; troubled != (vendor == "peopledatalabs") {
				t.Errorf("%s failed %s calls and refused %s: the primary should, the secondary not", vendor, numbers[1], numbers[2])
			}
		}
		if cost, billed := find(t, shown, `answers cost (\$[\d.]+)`), find(t, shown, `vendors billed (\$[\d.]+)`); cost != billed && !strings.Contains(shown, "nobody knows") {
			t.Errorf("the answers cost %s and the vendors billed %s", cost, billed)
		}
		if !strings.Contains(shown, "shared") {
			t.Errorf("no lead shows that it shared another's call:\n%s", shown)
		}
		if !strings.Contains(shown, "memory") || !strings.Contains(shown, "hunter+peopledatalabs") {
			t.Errorf("no lead was answered from memory, or none by both vendors:\n%s", shown)
		}
	})
	rest, grpcAddress := find(t, shown, `curl -s http://(\S+)/v1`), find(t, shown, `' (\S+) enrich\.v1`)
	readme := readText(t, "../../README.md")

	t.Run("curl", func(t *testing.T) {
		path, body := find(t, readme, `curl -s http://127.0.0.1:8470(\S+) -d`), find(t, readme, `-d '([^']+)'`)
		response, err := http.Post("http://"+rest+path, "application/x-www-form-urlencoded", strings.NewReader(body)) // as curl -d does
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		var answer, example map[string]any
		if err := json.Unmarshal(text, &answer); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("answered %d: %s", response.StatusCode, text)
		}
		if err := json.Unmarshal([]byte(find(t, readme, "(?s)```json\n(.*?)```")), &example); err != nil {
			t.Fatalf("the README's answer is not JSON: %v", err)
		}
		for field := range example {
			if _, ok := answer[field]; !ok && field != "costMicros" { // 0 is left out
				t.Errorf("the answer lacks %q, which the README shows: %s", field, text)
			}
		}
	})
	t.Run("Go client", func(t *testing.T) {
		source := readText(t, "../../examples/go/first/main.go")
		if _, code, _ := strings.Cut(source, "\npackage main"); !strings.Contains(readme, "package main"+code) {
			t.Error("the README's client is not examples/go/first/main.go")
		}
		said := runExample(t, strings.Replace(source, "127.0.0.1:8471", grpcAddress, 1))
		if !strings.HasPrefix(said, "OUTCOME_") || !strings.Contains(said, "Northwind") {
			t.Errorf("the client says %q", said)
		}
	})
	t.Run("examples", func(t *testing.T) { runExamples(t, rest, grpcAddress) })
	t.Run("file of leads", func(t *testing.T) { enrichDemoLeads(t, grpcAddress) })
	t.Run("single address", func(t *testing.T) {
		var found, failed bytes.Buffer
		code := run(t.Context(), []string{"enrich", "--server", grpcAddress, "mara.lindqvist@northwind.example", "n/a"}, terminal{out: &found, err: &failed})
		if code != 1 || !strings.Contains(found.String(), "Mara Lindqvist") || !strings.Contains(failed.String(), "placeholder") {
			t.Errorf("exit code %d, %s, %s", code, &found, &failed)
		}
	})
	cancel()
	if code := <-exited; code != 0 {
		t.Errorf("the demo ended with %d: %s", code, progress)
	}
}

// runExample runs examples/go/first with another source.
func runExample(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	replaced := filepath.Join(dir, "main.go")
	original, err := filepath.Abs("../../examples/go/first/main.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, _ := json.Marshal(map[string]map[string]string{"Replace": {original: replaced}})
	if err := os.WriteFile(replaced, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), "go", "run", "-race", "-overlay", filepath.Join(dir, "overlay.json"), "../../examples/go/first").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return string(said)
}

// enrichDemoLeads enriches the bundled file in two runs, the first of which is
// cut off.
func enrichDemoLeads(t *testing.T, server string) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "leads.csv"), filepath.Join(dir, "out.csv")
	if err := os.WriteFile(in, demoLeads, 0o600); err != nil {
		t.Fatal(err)
	}
	enrich := func() string {
		var said bytes.Buffer
		if code := run(t.Context(), []string{"enrich", "--server", server, "--file", in, "--out", out}, terminal{out: &said, err: &said}); code != 1 {
			t.Errorf("exit code %d, want 1 because some rows cannot be read: %s", code, &said)
		}
		return readText(t, out)
	}
	whole := enrich()
	rows, err := csv.NewReader(strings.NewReader(whole)).ReadAll()
	if err != nil || len(rows) != 67 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if err := os.WriteFile(out, []byte(whole[:len(whole)/2]), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := enrich(); strings.Count(again, "\n") != strings.Count(whole, "\n") {
		t.Errorf("the continued run wrote %d lines, want %d", strings.Count(again, "\n"), strings.Count(whole, "\n"))
	}
}
