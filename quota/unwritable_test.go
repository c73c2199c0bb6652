package quota_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// TestCallsGoOnWhereTheStateCannotBeWritten has a folder that never took a
// file, and one that is gone from the first call until the end.
func TestCallsGoOnWhereTheStateCannotBeWritten(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"read-only": "/sys", "gone": gone} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			keeper, err := quota.New(quota.Config{StateFile: filepath.Join(folder, "enrichd.state")},
				map[string][]enrich.Limit{"acme": {{Name: "day", Unit: enrich.Requests, Shape: enrich.FixedWindow, Amount: 1000, Window: 24 * time.Hour}}},
				quota.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if folder == gone {
				if err := os.RemoveAll(gone); err != nil {
					t.Fatal(err)
				}
			}
			for range 200 {
				permit, err := keeper.Acquire(t.Context(), quota.Ask{Provider: "acme"})
				if err != nil {
					t.Fatalf("a call was refused: %v", err)
				}
				permit.Settle(enrich.KnownCharge(0), nil)
			}
			if folder == gone {
				if err := os.Mkdir(gone, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := keeper.Close(); err != nil {
				t.Error(err)
			}
			if got := strings.Count(log.String(), "cannot be written"); got != 1 {
				t.Errorf("%d warnings: %s", got, log.String())
			}
			if got := strings.Contains(log.String(), "is written again"); got != (folder == gone) {
				t.Errorf("told that it is over: %v: %s", got, log.String())
			}
			if strings.Contains(log.String(), os.ErrInvalid.Error()) {
				t.Errorf("told of more than the trouble: %s", log.String())
			}
			if keeper.StateFailures() == 0 {
				t.Error("no failure was counted")
			}
		})
	}
}

// TestAnUnreadableStateIsReportedAlone, whether or not its folder takes the lock
// beside it.
func TestAnUnreadableStateIsReportedAlone(t *testing.T) {
	for name, folder := range map[string]string{"locked": t.TempDir(), "read-only": "/sys/kernel"} {
		t.Run(name, func(t *testing.T) {
			keeper, err := quota.New(quota.Config{StateFile: folder}, nil, quota.Options{})
			if err == nil {
				t.Fatal("a folder was read as a state file", keeper.Close())
			}
			if trouble := new(fs.PathError); !errors.As(err, &trouble) || trouble.Path != folder {
				t.Errorf("%v does not name the file", err)
			}
			if errors.Is(err, os.ErrInvalid) {
				t.Errorf("told of more than the trouble: %v", err)
			}
		})
	}
}
