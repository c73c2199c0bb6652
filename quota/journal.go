package quota

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/enrichd/enrichd/heldfile"
)

// journal keeps the state file. A counter may run ahead of the file only by what
// the file allows: before that is used up the file is written anew. So a process
// that dies has spent at most what its file says, whenever it dies.
type journal struct {
	path string
	log  *slog.Logger
	// collect returns what is to be written, and commit, which is called when
	// it was.
	collect func(clean bool) (d document, commit func())

	wanted  chan struct{} // holds a token when the file is to be written
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	lock    *os.File      // held beside the file; nil: not held
	failed  atomic.Uint64 // writings that failed

	mu      sync.Mutex
	next    chan struct{} // closed when the next writing is done
	failing bool          // the last writing failed
}

// restWrites is the time between two writings.
const restWrites = 10 * time.Millisecond

// openJournal locks and reads the file. What it says is in the document; if the
// file is damaged, the error is errDamaged and the journal is good all the same.
func openJournal(path string, log *slog.Logger) (*journal, document, error) {
	lock, err := heldfile.Open(path + ".lock")
	switch {
	case errors.Is(err, heldfile.ErrHeld):
		return nil, document{}, fmt.Errorf("%s: another process uses the state file", path)
	case errors.Is(err, heldfile.ErrNoLocks): // that each process has a file of its own is left to the operator
	case cannotWrite(err): // what the file says still counts; the first writing tells of it
	case err != nil:
		return nil, document{}, err
	}
	j := &journal{path: path, log: log, lock: lock, wanted: make(chan struct{}, 1), next: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j, document{Clean: true}, nil
	case err != nil:
		_ = j.lock.Close() // which may be nil
		return nil, document{}, err
	}
	d, err := decode(text)
	return j, d, err
}

// cannotWrite tells whether a folder is there and takes nothing.
func cannotWrite(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC)
}

// start writes the file once, so that something may be spent, and goes on
// writing it as wanted.
func (j *journal) start() {
	j.write(false)
	j.running.Go(func() {
		for {
			select {
			case <-j.ctx.Done():
				return
			case <-j.wanted:
				j.write(false)
			}
			select {
			case <-j.ctx.Done():
				return
			case <-time.After(restWrites):
			}
		}
	})
}

// want asks for the file to be written soon.
func (j *journal) want() {
	select {
	case j.wanted <- struct{}{}:
	default:
	}
}

// wait returns when the file was written again. The error is ctx's, or that the
// journal is closed.
func (j *journal) wait(ctx context.Context) error {
	j.mu.Lock()
	next := j.next
	j.mu.Unlock()
	j.want()
	select {
	case <-next:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-j.ctx.Done():
		return j.ctx.Err()
	}
}

// write writes the file. If that fails, calls go on: what was spent is known as
// long as the process lives.
func (j *journal) write(clean bool) {
	j.mu.Lock()
	done := j.next
	j.next = make(chan struct{})
	j.mu.Unlock()
	d, commit := j.collect(clean)
	text, err := encode(d)
	if err == nil {
		err = replaceFile(j.path, text)
	}
	j.report(err)
	commit()
	close(done)
}

// report counts a writing that failed, and tells of a trouble once when it
// begins and once when it is over.
func (j *journal) report(err error) {
	switch {
	case err != nil:
		j.failed.Add(1)
		if !j.failing {
			j.log.Error("quota: the state file cannot be written; a restart will forget what was spent", "error", err)
		}
	case j.failing:
		j.log.Info("quota: the state file is written again")
	}
	j.failing = err != nil
}

// close writes the file for the last time.
func (j *journal) close() {
	j.cancel()
	j.running.Wait()
	j.write(true)
	_ = j.lock.Close()
}

// replaceFile writes a file so that after a crash it is either the old or the
// new one.
func replaceFile(path string, text []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
