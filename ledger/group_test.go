package ledger

import (
	"context"
	"database/sql"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
)

func openOne(t *testing.T) *Store {
	t.Helper()
	store, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "enrichd.db"), Node: "node-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// TestWhatMakesWayGoesLast holds the writer while others queue, and looks in
// which order they are let in.
func TestWhatMakesWayGoesLast(t *testing.T) {
	store := openOne(t)
	var order []string
	var writes sync.WaitGroup
	start := func(write func(context.Context, func(context.Context, *sql.Tx) error) error, work func()) {
		writes.Go(func() {
			err := write(t.Context(), func(context.Context, *sql.Tx) error {
				work()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	holds, release := make(chan bool), make(chan bool)
	start(store.Write, func() {
		close(holds)
		<-release
	})
	<-holds
	for range 3 {
		start(store.MakeWay, func() { order = append(order, "patient") })
		start(store.Write, func() { order = append(order, "urgent") })
	}
	for len(store.group.urgent) < 3 || len(store.group.patient) < 3 {
		runtime.Gosched()
	}
	close(release)
	writes.Wait()
	if want := []string{"urgent", "urgent", "urgent", "patient", "patient", "patient"}; !slices.Equal(order, want) {
		t.Errorf("the order was %v", order)
	}
}

// TestNobodyIsForgottenWhileNothingCanBeWritten has more callers wait than share a
// transaction, when none can begin.
func TestNobodyIsForgottenWhileNothingCanBeWritten(t *testing.T) {
	store := openOne(t)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	g := &group{db: store.Pool(), urgent: make(chan *piece, groupSize), patient: make(chan *piece, groupSize)}
	for range groupSize {
		g.urgent <- &piece{ctx: t.Context()}
		g.patient <- &piece{ctx: t.Context()}
	}
	for told, waiting := 0, 2*groupSize; waiting > 0; told = 0 {
		first := g.next(true)
		if first == nil {
			t.Fatalf("%d are forgotten", waiting)
		}
		pieces, err := g.commit(first)
		if told = len(pieces); err == nil || told > groupSize {
			t.Fatalf("%d pieces, error %v", told, err)
		}
		waiting -= told
	}
}

// TestCommitsWaitForTheDisk asks SQLite how it commits what the ledger writes,
// and what the queue's engine writes on its own.
func TestCommitsWaitForTheDisk(t *testing.T) {
	store := openOne(t)
	const normal, full = 1, 2
	for range 3 {
		var inside, outside int
		err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&inside)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Pool().QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&outside); err != nil {
			t.Fatal(err)
		}
		if inside != full || outside != normal {
			t.Errorf("inside %d, outside %d", inside, outside)
		}
	}
}
