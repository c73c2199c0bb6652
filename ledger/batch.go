package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Batcher does together what many callers ask for at once: a statement about
// many rows costs little more than one about a single row, and a commit costs
// the same. Nobody waits for others to come: whoever finds it idle begins, and
// those who come meanwhile are the next batch. One batch is done at a time: with
// two, each was half as large and PostgreSQL worked a quarter more for the same
// leads. It is safe for concurrent use.
type Batcher[I, O any] struct {
	// Do does a batch and returns an outcome for each piece, in order, or the
	// error that none of it was done. Its context is not cancelled: Do bounds its
	// own time, and context.DeadlineExceeded is that of a database that hangs.
	Do func(ctx context.Context, pieces []I) ([]O, error)
	// Most pieces of a batch.
	Most int

	mu      sync.Mutex // guards the rest
	waiting []*asked[I, O]
	running bool
}

// mostTogether is how many pieces of work are done with the same statements.
const mostTogether = 64

// Together returns a Batcher of the usual size.
func Together[I, O any](do func(context.Context, []I) ([]O, error)) *Batcher[I, O] {
	return &Batcher[I, O]{Do: do, Most: mostTogether}
}

// asked is one caller's piece.
type asked[I, O any] struct {
	ctx     context.Context
	piece   I
	outcome O
	err     error
	done    chan struct{}
}

// Ask has a piece done and waits until it is. A context that ends before the
// piece's batch has begun is its error. With a database that hangs it waits for two batches at most.
func (b *Batcher[I, O]) Ask(ctx context.Context, piece I) (O, error) {
	a := &asked[I, O]{ctx: ctx, piece: piece, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, a)
	idle := !b.running
	b.running = true
	b.mu.Unlock()
	if idle {
		go b.run()
	}
	<-a.done
	return a.outcome, a.err
}

// run does batches until nobody waits.
func (b *Batcher[I, O]) run() {
	for {
		b.mu.Lock()
		batch := b.waiting[:min(len(b.waiting), b.Most)]
		if b.waiting = b.waiting[len(batch):]; len(batch) == 0 {
			b.waiting, b.running = nil, false
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		if err := b.perform(batch); errors.Is(err, context.DeadlineExceeded) {
			batch = slices.Concat(batch, b.giveUp(err))
		}
		for _, a := range batch {
			close(a.done)
		}
	}
}

// giveUp takes all who wait and gives them the error of a database that hangs:
// one after the other they would wait for the same.
func (b *Batcher[I, O]) giveUp(err error) []*asked[I, O] {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.waiting
	b.waiting = nil
	for _, a := range waiting {
		a.err = err
	}
	return waiting
}

// perform does a batch. When that fails its pieces are done alone, so that a bad
// one takes nothing else with it; two that fail in a row are not to blame, nor
// one for whom the database hangs, and the rest is spared the attempt. It returns
// the last error.
func (b *Batcher[I, O]) perform(batch []*asked[I, O]) (err error) {
	var live []*asked[I, O]
	for _, a := range batch {
		if a.err = a.ctx.Err(); a.err == nil {
			live = append(live, a)
		}
	}
	if len(live) == 0 {
		return nil
	}
	if err = b.together(live); err == nil || len(live) == 1 {
		return err
	}
	for i, a := range live {
		if errors.Is(err, context.DeadlineExceeded) || i >= 2 && live[i-1].err != nil && live[i-2].err != nil {
			a.err = err
			continue
		}
		err = b.together(live[i : i+1])
	}
	return err
}

// together does pieces at once and gives each its outcome or their error.
func (b *Batcher[I, O]) together(live []*asked[I, O]) error {
	pieces := make([]I, len(live))
	for i, a := range live {
		pieces[i] = a.piece
	}
	outcomes, err := b.do(context.WithoutCancel(live[0].ctx), pieces)
	for i, a := range live {
		if a.err = err; err == nil {
			a.outcome = outcomes[i]
		}
	}
	return err
}

// do is Do, whose panic is an error: it would end the program, for no caller is
// there to recover from it.
func (b *Batcher[I, O]) do(ctx context.Context, pieces []I) (outcomes []O, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("ledger: a batch panicked: %v", recovered)
		}
	}()
	return b.Do(ctx, pieces)
}
