package intake

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

// Importer reads files of leads into the ledger.
type Importer struct {
	Store    *ledger.Store
	Acceptor Acceptor
}

// Options say how a file is read and what is wanted of its leads. They are part
// of what makes two imports the same.
type Options struct {
	// Column of the e-mail addresses; empty: one with a usual name.
	Column string
	Lane   enrich.Lane // empty: bulk
	Want   ledger.Want
}

// Import reads a file to its end and returns the import. The same file with the
// same options is the same import: one that was read does nothing, one that was
// interrupted goes on where it stopped, and of two who send it at once each goes
// on behind the other. A file that cannot be read at all is an
// *UnreadableError, and nothing of it is accepted.
func (i *Importer) Import(ctx context.Context, account enrich.Account, file io.ReadSeeker, options Options) (ledger.Import, error) {
	if options.Lane == "" {
		options.Lane = enrich.Bulk
	}
	digest, err := digestOf(file, options)
	if err != nil {
		return ledger.Import{}, err
	}
	table, err := NewTable(file, options.Column)
	if err != nil {
		return ledger.Import{}, err
	}
	imported, err := i.Store.BeginImport(ctx, account.Name, digest)
	if err != nil || !imported.FinishedAt.IsZero() {
		return imported, err
	}
	if err := skip(table, imported.NextRow); err != nil {
		return imported, err
	}
	next := imported.NextRow
	for finished := false; !finished; {
		rows, err := page(table)
		if finished = errors.Is(err, io.EOF); err != nil && !finished {
			return imported, fmt.Errorf("intake: import: %w", err)
		}
		began := time.Now()
		err = i.accept(ctx, account, imported.ID, next, rows, finished, options)
		next += int64(len(rows))
		if errors.Is(err, ledger.ErrTaken) {
			finished = false
			if imported, next, err = i.follow(ctx, imported.ID, table, next, err); !imported.FinishedAt.IsZero() {
				return imported, err
			}
		}
		if err != nil {
			return imported, err
		}
		if err := makeWay(ctx, min(time.Since(began), longestPause)); err != nil {
			return imported, err
		}
	}
	return i.Store.Import(ctx, imported.ID)
}

// follow goes on behind somebody who reads the same file at the same time and has
// written down the rows before next, or more. taken is the error that told so. It
// returns the import as it stands, and where it goes on.
func (i *Importer) follow(ctx context.Context, id string, table *Table, next int64, taken error) (ledger.Import, int64, error) {
	imported, err := i.Store.Import(ctx, id)
	switch {
	case err != nil || !imported.FinishedAt.IsZero():
		return imported, next, err
	case imported.NextRow < next: // their pages end elsewhere
		return imported, next, taken
	}
	return imported, imported.NextRow, skip(table, imported.NextRow-next)
}

// skip passes over rows that were written down already.
func skip(table *Table, rows int64) error {
	for range rows {
		if _, err := table.Next(); err != nil {
			return fmt.Errorf("intake: import: %w", err)
		}
	}
	return nil
}

const (
	// pageRows are written down at once. Few, because others' writes wait for
	// them where the ledger has one writer.
	pageRows     = 100
	longestPause = 100 * time.Millisecond
)

// makeWay leaves the ledger to others for as long as the import had it.
func makeWay(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// page reads the next rows. The error is io.EOF with the last ones.
func page(table *Table) (rows []Row, err error) {
	for len(rows) < pageRows {
		row, err := table.Next()
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// accept writes one page down: its leads and what became of its rows, in one
// transaction.
func (i *Importer) accept(ctx context.Context, account enrich.Account, id string, from int64, rows []Row, finished bool, options Options) error {
	err := i.Store.MakeWay(ctx, func(ctx context.Context, tx *sql.Tx) error {
		statuses := make([]ledger.Row, len(rows))
		var leads []jobs.Lead
		var at []int
		for n, row := range rows {
			if statuses[n] = (ledger.Row{Line: row.Line, Status: ledger.RowRefused, Reason: row.Refused}); row.Refused != "" {
				continue
			}
			leads = append(leads, jobs.Lead{Email: row.Email, Lane: options.Lane, Want: options.Want, Origin: id})
			at = append(at, n)
		}
		results, err := i.Acceptor.SubmitIn(ctx, tx, account, leads)
		if err != nil {
			return err
		}
		for n, result := range results {
			status := &statuses[at[n]]
			switch {
			case result.Refused != nil:
				status.Reason = result.Refused.Reason
			case result.Receipt.New:
				status.Status, status.Lead = ledger.RowAccepted, result.Receipt.ID
			default:
				status.Status, status.Lead = ledger.RowRepeated, result.Receipt.ID
			}
		}
		return i.Store.AdvanceImport(ctx, tx, id, from, statuses, finished)
	})
	if err != nil {
		return &enrich.Error{Kind: enrich.Unavailable, Message: "the import cannot go on at the moment; send the file again to resume it", Cause: err}
	}
	return nil
}

// digestOf is of the content and the options. It leaves the file at its
// beginning.
func digestOf(file io.ReadSeeker, options Options) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("intake: import: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("intake: import: %w", err)
	}
	chosen, err := json.Marshal(options)
	if err != nil {
		return "", fmt.Errorf("intake: import: %w", err)
	}
	hash.Write(chosen)
	return hex.EncodeToString(hash.Sum(nil)), nil
}
