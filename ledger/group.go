package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// groupSize bounds how many pieces of work share a transaction.
	groupSize = 64
	// groupFor is how long a transaction takes further pieces that make way, and
	// so about how long others wait for it.
	groupFor = 10 * time.Millisecond
)

// errClosed is the error of a write after Close.
var errClosed = errors.New("ledger: closed")

// group commits what many write at once in one transaction: SQLite has one
// writer, whose time goes into waiting for the disk. Each piece of work but the
// first has a savepoint of its own, so that one that fails takes nothing else
// with it. What is urgent goes first, and what comes while a transaction is open
// joins it.
type group struct {
	db      *sql.DB
	urgent  chan *piece
	patient chan *piece
	ending  sync.RWMutex // held for reading while a piece is handed over
	closed  bool
	stop    chan struct{}
	ended   chan struct{}
}

// piece is one caller's work.
type piece struct {
	ctx  context.Context
	work func(context.Context, *sql.Tx) error
	err  error
	done chan struct{}
}

func newGroup(db *sql.DB) *group {
	g := &group{db: db, urgent: make(chan *piece, groupSize), patient: make(chan *piece, groupSize),
		stop: make(chan struct{}), ended: make(chan struct{})}
	go g.run()
	return g
}

// write has work done and waits until it lies on the disk. A context that ends
// before the work has begun ends the wait only once the work was passed over.
func (g *group) write(ctx context.Context, queue chan *piece, work func(context.Context, *sql.Tx) error) error {
	p := &piece{ctx: ctx, work: work, done: make(chan struct{})}
	if err := g.hand(queue, p); err != nil {
		return err
	}
	<-p.done
	return p.err
}

func (g *group) hand(queue chan *piece, p *piece) error {
	g.ending.RLock()
	defer g.ending.RUnlock()
	if g.closed {
		return errClosed
	}
	select {
	case queue <- p:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// close does what was handed over and ends.
func (g *group) close() {
	g.ending.Lock()
	if !g.closed {
		g.closed = true
		close(g.stop)
	}
	g.ending.Unlock()
	<-g.ended
}

func (g *group) run() {
	defer close(g.ended)
	for {
		first := g.next(true)
		if first == nil {
			select {
			case first = <-g.urgent:
			case first = <-g.patient:
			case <-g.stop:
				if first = g.next(true); first == nil {
					return
				}
			}
		}
		pieces, err := g.commit(first)
		for _, p := range pieces {
			p.err = errors.Join(p.err, err)
			close(p.done)
		}
	}
}

// next returns a piece that waits, an urgent one first, or nil.
func (g *group) next(patient bool) *piece {
	select {
	case p := <-g.urgent:
		return p
	default:
	}
	if !patient {
		return nil
	}
	select {
	case p := <-g.patient:
		return p
	default:
		return nil
	}
}

// commit does the first piece, and those that wait or come meanwhile, in one
// transaction, and returns them. Its error is that none of them counts; a piece's
// own error concerns that piece alone.
func (g *group) commit(first *piece) (pieces []*piece, err error) {
	began := time.Now()
	pieces = append(pieces, first)
	ctx := context.Background()
	tx, release, err := g.begin(ctx)
	if err != nil {
		for len(pieces) < groupSize {
			p := g.next(true)
			if p == nil {
				break
			}
			pieces = append(pieces, p) // it would wait for the same error
		}
		return pieces, err
	}
	defer release()
	defer tx.Rollback()
	// The first piece needs no savepoint: when it fails there is nothing else to
	// keep. For a batch of 500 leads that saves a fifth of the processor time.
	if first.err = first.ctx.Err(); first.err == nil {
		first.err = perform(context.WithoutCancel(first.ctx), tx, first.work)
	}
	if first.err != nil {
		return pieces, nil
	}
	for len(pieces) < groupSize {
		p := g.next(time.Since(began) < groupFor)
		if p == nil {
			break
		}
		pieces = append(pieces, p)
		if err := g.perform(ctx, tx, p); err != nil {
			return pieces, err
		}
	}
	if err := tx.Commit(); err != nil {
		return pieces, fmt.Errorf("ledger: commit: %w", err)
	}
	return pieces, nil
}

// begin opens a transaction whose commit waits for the disk. What the queue's
// engine writes on its own on this connection does not: a crash of the machine
// that forgets which jobs were handed out has them handed out again.
func (g *group) begin(ctx context.Context) (tx *sql.Tx, release func(), err error) {
	conn, err := g.db.Conn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: begin: %w", err)
	}
	release = func() {
		_, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL")
		_ = errors.Join(err, conn.Close()) // at worst the engine waits for the disk as well
	}
	if _, err = conn.ExecContext(ctx, "PRAGMA synchronous = FULL"); err == nil {
		if tx, err = conn.BeginTx(ctx, nil); err == nil {
			return tx, release, nil
		}
	}
	release()
	return nil, nil, fmt.Errorf("ledger: begin: %w", err)
}

// perform does one piece under a savepoint. Its error ends the transaction, as
// that of a full disk does.
func (g *group) perform(ctx context.Context, tx *sql.Tx, p *piece) error {
	if p.err = p.ctx.Err(); p.err != nil {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT piece"); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if p.err = perform(context.WithoutCancel(p.ctx), tx, p.work); p.err != nil {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO piece"); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, "RELEASE piece"); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// perform runs one piece of work; a panic is its error. With SQLite its context
// is never cancelled: an interrupted statement would roll back the whole
// transaction.
func perform(ctx context.Context, tx *sql.Tx, work func(context.Context, *sql.Tx) error) (err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("ledger: a write panicked: %v", recovered)
		}
	}()
	return work(ctx, tx)
}
