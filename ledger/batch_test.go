package ledger_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/ledger"
)

var errBad = errors.New("bad")

// doubler doubles numbers, a second for each batch, and fails with a batch that
// has a bad one. It notes the batches.
func doubler(batches *[][]int, bad ...int) *ledger.Batcher[int, int] {
	return &ledger.Batcher[int, int]{Most: 4, Do: func(_ context.Context, pieces []int) ([]int, error) {
		time.Sleep(time.Second)
		*batches = append(*batches, slices.Clone(pieces))
		var doubled []int
		for _, piece := range pieces {
			if slices.Contains(bad, piece) {
				return nil, errBad
			}
			doubled = append(doubled, 2*piece)
		}
		return doubled, nil
	}}
}

// askAll asks for 0, 1, … one after the other and waits for all.
func askAll(t *testing.T, batcher *ledger.Batcher[int, int], count int) (failed []int) {
	t.Helper()
	errs := make([]chan error, count)
	for n := range count {
		errs[n] = make(chan error, 1)
		go func() {
			doubled, err := batcher.Ask(t.Context(), n)
			if err == nil && doubled != 2*n {
				t.Errorf("%d doubled is %d", n, doubled)
			}
			errs[n] <- err
		}()
		synctest.Wait()
	}
	for n := range count {
		if err := <-errs[n]; err != nil {
			failed = append(failed, n)
		}
	}
	return failed
}

func TestWhoComesMeanwhileIsTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches [][]int
		began := time.Now()
		if failed := askAll(t, doubler(&batches), 7); len(failed) > 0 {
			t.Errorf("failed: %v", failed)
		}
		if want := [][]int{{0}, {1, 2, 3, 4}, {5, 6}}; !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("batches %v, want %v", batches, want)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// TestABadPieceFailsAlone has one bad piece in a batch, and then a batch that
// fails whatever is in it.
func TestABadPieceFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches [][]int
		if failed := askAll(t, doubler(&batches, 3), 5); !slices.Equal(failed, []int{3}) {
			t.Errorf("failed: %v, want 3 alone", failed)
		}
		batches = nil
		if failed := askAll(t, doubler(&batches, 0, 1, 2, 3, 4), 5); len(failed) != 5 {
			t.Errorf("failed: %v, want all", failed)
		}
		if want := [][]int{{0}, {1, 2, 3, 4}, {1}, {2}}; !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("attempts %v, want %v", batches, want)
		}
	})
}

func TestWhoLeftIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches [][]int
		batcher := doubler(&batches)
		go batcher.Ask(t.Context(), 0)
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := batcher.Ask(ctx, 1)
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if want := [][]int{{0}}; !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("batches %v, want %v", batches, want)
		}
	})
}

// TestAPanicFailsItsPieceAlone would end the program if nobody recovered.
func TestAPanicFailsItsPieceAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batcher := doubler(&[][]int{})
		sane := batcher.Do
		batcher.Do = func(ctx context.Context, pieces []int) ([]int, error) {
			if slices.Contains(pieces, 2) {
				panic("two")
			}
			return sane(ctx, pieces)
		}
		if failed := askAll(t, batcher, 5); !slices.Equal(failed, []int{2}) {
			t.Errorf("failed: %v, want 2 alone", failed)
		}
	})
}

// TestADatabaseThatHangsIsWaitedForOnce: neither are the pieces of its batch tried
// alone, nor do those who wait meanwhile wait for it again.
func TestADatabaseThatHangsIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, hangs := time.Now(), true
		batcher := &ledger.Batcher[int, int]{Most: 4, Do: func(_ context.Context, pieces []int) ([]int, error) {
			if time.Sleep(time.Second); hangs {
				return nil, context.DeadlineExceeded
			}
			return pieces, nil
		}}
		ask := func() {
			var all sync.WaitGroup
			for n := range 20 {
				all.Go(func() {
					if _, err := batcher.Ask(t.Context(), n); (err != nil) != hangs {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			all.Wait()
		}
		ask()
		if took := time.Since(began); took != time.Second {
			t.Errorf("while it hung they waited for %s", took)
		}
		hangs = false
		ask()
		if took := time.Since(began); took != 7*time.Second { // one alone, then batches of four
			t.Errorf("it took %s until all were done", took)
		}
	})
}
