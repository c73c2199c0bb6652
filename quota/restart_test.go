package quota_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

var hundredADay = enrich.Limit{Name: "day", Shape: enrich.FixedWindow, Amount: 100, Calendar: "day", Zone: "Europe/Berlin", ResetAt: "06:00"}

// spend takes n calls, and tells how many it got.
func spend(t *testing.T, k *quota.Keeper, n int) (got int) {
	t.Helper()
	for range n {
		permit, refusal := within(t, k, time.Second, acme(enrich.Interactive, "a"))
		if refusal != nil {
			return got
		}
		permit.Settle(enrich.KnownCharge(0), nil)
		got++
	}
	return got
}

func left(k *quota.Keeper) int64 { return k.Snapshot()[0].Limits[0].Left }

// restart starts a process with the state file as another left it.
func restart(t *testing.T, file string, limits ...enrich.Limit) *quota.Keeper {
	t.Helper()
	return newKeeper(t, quota.Config{StateFile: file, Caps: []quota.Cap{{Day: 10_000}}}, limits...)
}

// kill is what a kill leaves: the file as it was at that moment. The process
// that goes on in the test writes to the old one.
func kill(t *testing.T, file string) (left string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	left = filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(left, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return left
}

func TestRestartKeepsWhatWasSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "state")
		k := restart(t, file, hundredADay, bucket)
		spend(t, k, 40)
		k.Pause("acme", time.Now().Add(time.Hour), enrich.PausedByBlock)
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		k = restart(t, file, hundredADay, bucket)
		if _, refusal := within(t, k, time.Second, acme(enrich.Interactive, "a")); refusal == nil || refusal.Pause != enrich.PausedByBlock {
			t.Errorf("the pause was forgotten: %v", refusal)
		}
		time.Sleep(time.Hour)
		if got := left(k); got != 60 {
			t.Errorf("%d calls are left, want 60", got)
		}
		time.Sleep(4 * time.Hour) // 06:00 in Berlin
		if got := left(k); got != 100 {
			t.Errorf("%d calls are left on the next day, want 100", got)
		}
	})
}

// TestKillNeitherRefillsNorForgets: whenever the process is killed, the next one
// allows at most the rest of the day, and wastes next to nothing.
func TestKillNeitherRefillsNorForgets(t *testing.T) {
	for _, before := range []int{0, 1, 7, 50, 99, 100} {
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "state")
			k := restart(t, file, hundredADay)
			if got := spend(t, k, before); got != before {
				t.Fatalf("got %d of %d calls", got, before)
			}
			k = restart(t, kill(t, file), hundredADay)
			after := spend(t, k, 101)
			if before+after > 100 {
				t.Errorf("%d calls before the kill and %d after it are more than the day has", before, after)
			}
			if before+after < 95 {
				t.Errorf("the kill after %d calls wasted %d", before, 100-before-after)
			}
		})
	}
}

func TestKillKeepsMoneyAndPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "state")
		k := restart(t, file)
		spent := 0
		for range 60 {
			mustAcquire(t, k, priced("a", 100)).Settle(enrich.KnownCharge(100), nil)
			spent += 100
		}
		k.Pause("acme", time.Time{}, enrich.PausedByOperator)
		time.Sleep(time.Second)
		k = restart(t, kill(t, file))
		if state := k.Snapshot()[0]; state.Pause.Reason != enrich.PausedByOperator {
			t.Errorf("the pause was forgotten: %+v", state.Pause)
		}
		k.Resume("acme")
		for {
			permit, err := k.Acquire(context.Background(), priced("a", 100))
			if err != nil {
				break
			}
			permit.Settle(enrich.KnownCharge(100), nil)
			spent += 100
		}
		if spent > 10_000 || spent < 9_000 {
			t.Errorf("%d was spent of 10000", spent)
		}
	})
}

// TestDamagedFile: a file that cannot be trusted counts everything as spent.
func TestDamagedFile(t *testing.T) {
	for name, damage := range map[string]func(text string) string{
		"cut":           func(text string) string { return text[:len(text)/2] },
		"empty":         func(string) string { return "" },
		"changed":       func(text string) string { return strings.Replace(text, `"used":40`, `"used":4`, 1) },
		"another world": func(text string) string { return strings.Replace(text, `"version":1`, `"version":9`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "state")
				k := restart(t, file, hundredADay)
				spend(t, k, 40)
				if err := k.Close(); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				damaged := damage(string(text))
				if damaged == string(text) {
					t.Fatal("the file was not damaged")
				}
				if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
					t.Fatal(err)
				}
				k = restart(t, file, hundredADay)
				if got := spend(t, k, 1); got != 0 {
					t.Error("calls were allowed although nobody knows how many are left")
				}
				if _, err := k.Acquire(context.Background(), priced("a", 1)); err == nil {
					t.Error("money was allowed although nobody knows how much is left")
				}
				time.Sleep(6 * time.Hour)
				if got := left(k); got != 100 {
					t.Errorf("%d calls are left on the next day, want 100", got)
				}
			})
		})
	}
}

func TestTwoProcessesDoNotShareAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "state")
		restart(t, file)
		if k, err := quota.New(quota.Config{StateFile: file}, nil, quota.Options{}); err == nil {
			_ = k.Close()
			t.Error("a second process took the file")
		}
	})
}
