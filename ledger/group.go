package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// groupSize bounds how many pieces of work share a transaction, and so how long
// the first of them waits for the last.
const groupSize = 64

// errClosed is the error of a write after Close.
var errClosed = errors.New("ledger: closed")

// group commits what many write at once in one transaction: SQLite has one
// writer, whose time goes into waiting for the disk. Each piece of work has a
// savepoint of its own, so that one that fails takes nothing else with it.
type group struct {
	db     *sql.DB
	queue  chan *piece
	ending sync.RWMutex // held for reading while a piece is handed over
	closed bool
	ended  chan struct{}
}

// piece is one caller's work.
type piece struct {
	ctx  context.Context
	work func(context.Context, *sql.Tx) error
	err  error
	done chan struct{}
}

func newGroup(db *sql.DB) *group {
	g := &group{db: db, queue: make(chan *piece, groupSize), ended: make(chan struct{})}
	go g.run()
	return g
}

// write has work done and waits until it lies on the disk. A context that ends
// before the work has begun ends the wait only once the work was passed over.
func (g *group) write(ctx context.Context, work func(context.Context, *sql.Tx) error) error {
	p := &piece{ctx: ctx, work: work, done: make(chan struct{})}
	if err := g.hand(p); err != nil {
		return err
	}
	<-p.done
	return p.err
}

func (g *group) hand(p *piece) error {
	g.ending.RLock()
	defer g.ending.RUnlock()
	if g.closed {
		return errClosed
	}
	select {
	case g.queue <- p:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

func (g *group) close() {
	g.ending.Lock()
	if !g.closed {
		g.closed = true
		close(g.queue)
	}
	g.ending.Unlock()
	<-g.ended
}

func (g *group) run() {
	defer close(g.ended)
	for first := range g.queue {
		pieces := []*piece{first}
		for more := true; more && len(pieces) < groupSize; {
			select {
			case p, open := <-g.queue:
				if more = open; open {
					pieces = append(pieces, p)
				}
			default:
				more = false
			}
		}
		if err := g.commit(pieces); err != nil {
			for _, p := range pieces {
				p.err = errors.Join(p.err, err)
			}
		}
		for _, p := range pieces {
			close(p.done)
		}
	}
}

// commit does all pieces in one transaction. Its error is that none of them
// counts; a piece's own error concerns that piece alone.
func (g *group) commit(pieces []*piece) error {
	ctx := context.Background()
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("ledger: begin: %w", err)
	}
	defer tx.Rollback()
	for _, p := range pieces {
		if p.err = p.ctx.Err(); p.err != nil {
			continue
		}
		if _, err := tx.ExecContext(ctx, "SAVEPOINT piece"); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if p.err = perform(p.ctx, tx, p.work); p.err != nil {
			if _, err := tx.ExecContext(ctx, "ROLLBACK TO piece"); err != nil {
				return fmt.Errorf("ledger: %w", err) // a full disk ends the whole transaction
			}
		}
		if _, err := tx.ExecContext(ctx, "RELEASE piece"); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("ledger: commit: %w", err)
	}
	return nil
}

// perform runs one piece of work; a panic is its error. Its context is never
// cancelled: SQLite would roll back the whole transaction with an interrupted
// statement.
func perform(ctx context.Context, tx *sql.Tx, work func(context.Context, *sql.Tx) error) (err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("ledger: a write panicked: %v", recovered)
		}
	}()
	return work(context.WithoutCancel(ctx), tx)
}
