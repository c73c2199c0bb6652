package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/enrichd/enrichd/heldfile"
)

// readers is how many connections read the SQLite file beside its one writer.
const readers = 4

// busyTimeout is how long a statement waits for another connection's lock, in
// milliseconds.
const busyTimeout = "busy_timeout(10000)"

// writing is how the one writer works with the file. How its commits wait for the
// disk is told in group. What a savepoint would put back stays in memory: in a
// file of its own it cost a fifth of accepting a batch. Pages are kept, because
// keys are hashes and touch all of an index, and are written back to the file
// together, after 16 MiB of the log instead of 4. What is changed or deleted is
// overwritten, so that nothing of the erased stays in the file; see Wipe.
var writing = []string{busyTimeout, "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)",
	"temp_store(MEMORY)", "secure_delete(ON)", "cache_size(-32768)", "wal_autocheckpoint(4096)"}

// ErrInUse is the error of a ledger that another process works with, where only
// one may.
var ErrInUse = errors.New("ledger: another process uses it: stop that first")

// ErrNetworkDisk is the error of a SQLite file on a network file system.
var ErrNetworkDisk = errors.New("ledger: the file lies on a network file system: use a local disk or PostgreSQL")

func openSQLite(ctx context.Context, config Config) (*Store, error) {
	folder := filepath.Dir(config.Path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if onNetwork(folder) {
		return nil, ErrNetworkDisk
	}
	lock, err := heldfile.Open(config.Path + ".lock")
	if errors.Is(err, heldfile.ErrHeld) {
		return nil, ErrInUse
	} else if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := makePrivate(config.Path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	store := &Store{sqlite: true, lock: lock}
	store.writer, err = openFile(sqliteName(config.Path, "rwc", writing...))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	store.writer.SetMaxOpenConns(1)
	store.writer.SetConnMaxLifetime(0)
	if err := store.writer.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: open: %w", err), store.writer.Close(), lock.Close())
	}
	store.reader, err = openFile(sqliteName(config.Path, "ro", busyTimeout, "query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, store.writer.Close(), lock.Close())
	}
	store.reader.SetMaxOpenConns(readers)
	store.reader.SetMaxIdleConns(readers)
	store.group = newGroup(store.writer)
	store.unwiped.Store(true) // the process before may have ended before it wiped
	return store, nil
}

// makePrivate makes the file, where there is none, for this user alone: it holds
// personal data, and its folder may be older and open. SQLite gives its log the
// same permissions, and keeps those of a file that is there already.
func makePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return file.Close()
}

func openFile(name string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return sql.OpenDB(preparing{connector}), nil
}

func sqliteName(path, mode string, pragmas ...string) string {
	query := url.Values{"mode": {mode}, "_pragma": pragmas}
	if mode != "ro" {
		query.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String()
}
