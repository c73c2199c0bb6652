package app

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnOutageIsOneLine, however long and however often it is met; another error,
// a later outage and what is no error are told.
func TestAnOutageIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := tellOnce(slog.New(slog.NewTextHandler(&text, nil)))
		refused := errors.New("connection refused")
		lines := func(want int) {
			t.Helper()
			if got := strings.Count(text.String(), "\n"); got != want {
				t.Errorf("%d lines, want %d:\n%s", got, want, text.String())
			}
			text.Reset()
		}
		for n := range 1000 {
			log.With("n", n).Error("fetching jobs", "err", refused.Error(), "queue", fmt.Sprint("lane-", n%3))
			log.Warn("an answer cannot be kept", "error", refused)
			time.Sleep(outageOver / 2)
		}
		lines(2)
		log.Error("fetching jobs", "err", "read-only")
		log.Error("a panic", "job", 1)
		log.Error("a panic", "job", 2)
		log.Info("job errored", "error", refused)
		log.Info("job errored", "error", refused)
		lines(5)
		time.Sleep(outageOver)
		log.Error("fetching jobs", "err", refused.Error())
		lines(1)
		if told := log.Handler().(oncePerOutage).told; len(told.last) != 1 {
			t.Errorf("%d errors are remembered", len(told.last))
		}
	})
}
