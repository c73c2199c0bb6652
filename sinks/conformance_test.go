package sinks_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/enrichd/enrichd/sinks"
)

var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// receiver is a sink with a view of what its other end has, by operation key.
type receiver struct {
	sink sinks.Sink
	has  func(t *testing.T) map[string]string // operation key: body
	// away makes the other end fail until the returned function is called.
	away func(t *testing.T) (back func())
}

// TestConformance holds every sink to the same promises.
func TestConformance(t *testing.T) {
	for name, build := range map[string]func(*testing.T) receiver{"file": fileReceiver, "webhook": hookReceiver} {
		t.Run(name, func(t *testing.T) {
			t.Run("what is accepted is there once", func(t *testing.T) { acceptedOnce(t, build(t)) })
			t.Run("many at once", func(t *testing.T) { manyAtOnce(t, build(t)) })
			t.Run("failures say so and pass", func(t *testing.T) { failures(t, build(t)) })
		})
	}
}

func message(n int) sinks.Message {
	return sinks.Message{ID: fmt.Sprint("id-", n), RecordKey: "record", OperationKey: fmt.Sprint("op-", n), Version: int64(n), Body: fmt.Appendf(nil, `{"n":%d}`, n)}
}

func acceptedOnce(t *testing.T, r receiver) {
	for range 2 {
		if err := r.sink.Deliver(t.Context(), message(1)); err != nil {
			t.Fatal(err)
		}
	}
	if has := r.has(t); len(has) != 1 || has["op-1"] != `{"n":1}` {
		t.Errorf("the receiver has %v", has)
	}
}

func manyAtOnce(t *testing.T, r receiver) {
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			if err := r.sink.Deliver(t.Context(), message(n)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if has := r.has(t); len(has) != 50 {
		t.Errorf("the receiver has %d of 50", len(has))
	}
}

func failures(t *testing.T, r receiver) {
	back := r.away(t)
	err := r.sink.Deliver(t.Context(), message(1))
	if failure := sinks.AsError(err); failure == nil || failure.Class != sinks.Later || !failure.Attempted || failure.Reason == "" {
		t.Errorf("while it is away: %#v", failure)
	}
	if strings.Contains(fmt.Sprint(err), `"n"`) {
		t.Error("the error repeats the message")
	}
	if len(r.has(t)) != 0 {
		t.Error("a failed message is there")
	}
	back()
	if err := r.sink.Deliver(t.Context(), message(1)); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

func fileReceiver(t *testing.T) receiver {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	sink, err := sinks.NewFile(sinks.FileConfig{Name: "file", Path: path, RotateBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sink.Close() })
	return receiver{sink: sink,
		has: func(t *testing.T) map[string]string { return readLines(t, path+"*") },
		away: func(t *testing.T) func() {
			// Too long for what is left of the size, and no place to put the file
			// aside: the folder is gone.
			if err := sink.Deliver(t.Context(), sinks.Message{OperationKey: "big", Body: []byte(`"` + strings.Repeat("x", 900) + `"`)}); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Dir(path), filepath.Dir(path)+"-away"); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Rename(filepath.Dir(path)+"-away", filepath.Dir(path)); err != nil {
					t.Fatal(err)
				}
			}
		}}
}

func readLines(t *testing.T, pattern string) map[string]string {
	t.Helper()
	has := map[string]string{}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for one := range strings.Lines(string(text)) {
			var l struct {
				Key  string          `json:"operation_key"`
				Body json.RawMessage `json:"body"`
			}
			if err := json.Unmarshal([]byte(one), &l); err != nil {
				t.Fatal(err)
			}
			if _, twice := has[l.Key]; twice {
				t.Errorf("%s is there twice", l.Key)
			}
			has[l.Key] = string(l.Body)
		}
	}
	return has
}

func hookReceiver(t *testing.T) receiver {
	var mu sync.Mutex
	has := map[string]string{}
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		if status == http.StatusOK {
			has[strings.Trim(r.Header.Get("Idempotency-Key"), `"`)] = string(body)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	sink, err := sinks.NewWebhook(sinks.WebhookConfig{Name: "hook", URL: server.URL, Secrets: []string{secret}, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sink.Close() })
	set := func(to int) {
		mu.Lock()
		defer mu.Unlock()
		status = to
	}
	return receiver{sink: sink,
		has: func(*testing.T) map[string]string {
			mu.Lock()
			defer mu.Unlock()
			return has
		},
		away: func(*testing.T) func() {
			set(http.StatusServiceUnavailable)
			return func() { set(http.StatusOK) }
		}}
}

func TestFileCutsOffWhatACrashLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	whole := `{"id":"id-1","operation_key":"op-1","record_key":"record","version":1,"body":{"n":1}}` + "\n"
	if err := os.WriteFile(path, []byte(whole+`{"id":"id-2","oper`), 0o600); err != nil {
		t.Fatal(err)
	}
	sink, err := sinks.NewFile(sinks.FileConfig{Name: "file", Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	for n := 1; n <= 2; n++ { // the first was written and not acknowledged
		if err := sink.Deliver(context.Background(), message(n)); err != nil {
			t.Fatal(err)
		}
	}
	if has := readLines(t, path); len(has) != 2 {
		t.Errorf("the file has %v", has)
	}
}
