package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

func TestLinesSayWhichRequestTheyBelongTo(t *testing.T) {
	var text bytes.Buffer
	log := NewLogger(&text, nil, Config{})
	log.With("part", "router").InfoContext(enrich.WithRequestID(traced(t), "R1"), "asked", "provider", "acme")
	var line map[string]any
	if err := json.Unmarshal(text.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, text.String())
	}
	for key, want := range map[string]string{
		"msg": "asked", "part": "router", "provider": "acme", "request_id": "R1",
		"trace_id": "ab" + strings.Repeat("0", 30), "span_id": "0100000000000000",
	} {
		if line[key] != want {
			t.Errorf("%s = %v, want %v", key, line[key], want)
		}
	}
	text.Reset()
	log.InfoContext(enrich.WithRequestID(t.Context(), "R2"), "failed", "request_id", "R2")
	if got := strings.Count(text.String(), "request_id"); got != 1 {
		t.Errorf("the id stands in the line %d times: %s", got, text.String())
	}
	if strings.Contains(text.String(), "trace_id") {
		t.Errorf("a request without a trace names one: %s", text.String())
	}
}

func TestLevelAndFormatAreObeyed(t *testing.T) {
	var text bytes.Buffer
	log := NewLogger(&text, slog.LevelWarn, Config{LogFormat: "text"})
	log.Info("unseen")
	log.Warn("seen")
	if got := text.String(); !strings.Contains(got, "msg=seen") || strings.Contains(got, "unseen") {
		t.Errorf("log = %q", got)
	}
}

// fullDisk takes nothing while it is full.
type fullDisk struct {
	full bool
	text bytes.Buffer
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.full {
		return 0, errors.New("no space left on device")
	}
	return d.text.Write(p)
}

func TestAFullDiskCostsLinesAndNothingElse(t *testing.T) {
	disk := &fullDisk{}
	log := NewLogger(disk, nil, Config{})
	log.Info("before")
	disk.full = true
	for range 3 {
		log.Error("lost")
	}
	disk.full = false
	log.Info("after")
	log.Info("later")
	if got := linesOf(log).lost.Load(); got != 3 {
		t.Errorf("%d lines are counted as lost, want 3", got)
	}
	if got := disk.text.String(); strings.Count(got, `"lost":3`) != 1 || strings.Count(got, "\n") != 4 {
		t.Errorf("log = %s", got)
	}
}
