package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Import is a file of leads that is read into the ledger.
type Import struct {
	ID      string
	Account string
	// Digest of the content and of how it is read: the same file twice is one
	// import.
	Digest string
	// NextRow is the first record that has not been read: whoever goes on with
	// the file begins there.
	NextRow    int64
	Accepted   int64
	Repeated   int64
	Refused    int64
	CreatedAt  time.Time
	FinishedAt time.Time // zero: not read to its end
}

// Row is what became of one row of an import.
type Row struct {
	Line   int64 // of the file, from 1
	Status string
	Reason string // of a refusal
	Lead   string
}

// The statuses of a row.
const (
	RowAccepted = "accepted"
	RowRepeated = "repeated" // a lead that was known
	RowRefused  = "refused"
)

// BeginImport starts an import, or returns the one of the same content.
func (s *Store) BeginImport(ctx context.Context, account, digest string) (Import, error) {
	err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO imports (id, account, digest, state, created_at) VALUES ($1, $2, $3, 'reading', $4)
			ON CONFLICT (account, digest) DO NOTHING`, NewID(), account, digest, millis(time.Now()))
		return err
	})
	if err != nil {
		return Import{}, fmt.Errorf("ledger: import: %w", err)
	}
	return s.oneImport(ctx, `account = $1 AND digest = $2`, account, digest)
}

// Import returns one import. ErrUnknown: there is none.
func (s *Store) Import(ctx context.Context, id string) (Import, error) {
	return s.oneImport(ctx, `id = $1`, id)
}

func (s *Store) oneImport(ctx context.Context, where string, args ...any) (Import, error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	var i Import
	var created, finished int64
	err := s.reader.QueryRowContext(ctx, `SELECT id, account, digest, next_row, accepted, repeated, refused, created_at, finished_at
		FROM imports WHERE `+where, args...).Scan(&i.ID, &i.Account, &i.Digest, &i.NextRow, &i.Accepted, &i.Repeated, &i.Refused, &created, &finished)
	if errors.Is(err, sql.ErrNoRows) {
		return Import{}, ErrUnknown
	}
	i.CreatedAt, i.FinishedAt = fromMillis(created), fromMillis(finished)
	return i, err
}

// AdvanceImport writes down what became of the next rows. It fails with ErrTaken
// when somebody else has advanced the import beyond from.
func (s *Store) AdvanceImport(ctx context.Context, tx *sql.Tx, id string, from int64, rows []Row, finished bool) error {
	counts := map[string]int64{}
	for _, row := range rows {
		counts[row.Status]++
	}
	var end int64
	state := "reading"
	if finished {
		end, state = millis(time.Now()), "read"
	}
	result, err := tx.ExecContext(ctx, `UPDATE imports SET next_row = next_row + $1, accepted = accepted + $2, repeated = repeated + $3,
		refused = refused + $4, finished_at = $5, state = $6 WHERE id = $7 AND next_row = $8 AND finished_at = 0`,
		len(rows), counts[RowAccepted], counts[RowRepeated], counts[RowRefused], end, state, id, from)
	if err := oneRow(result, err, ErrTaken); err != nil || len(rows) == 0 {
		return err
	}
	const columns = 5
	args := make([]any, 0, columns*len(rows))
	for _, row := range rows {
		args = append(args, id, row.Line, row.Status, row.Reason, row.Lead)
	}
	operand, args := s.operand(columns, args)
	_, err = tx.ExecContext(ctx, `INSERT INTO import_rows (import, line, status, reason, lead) `+operand, args...)
	if err != nil {
		return fmt.Errorf("ledger: import: %w", err)
	}
	return nil
}

// ImportRows lists rows of an import after a line.
func (s *Store) ImportRows(ctx context.Context, id string, after int64, most int) (list []Row, err error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	rows, err := s.reader.QueryContext(ctx, `SELECT line, status, reason, lead FROM import_rows WHERE import = $1 AND line > $2
		ORDER BY line LIMIT $3`, id, after, most)
	if err != nil {
		return nil, fmt.Errorf("ledger: import: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var row Row
		if err := rows.Scan(&row.Line, &row.Status, &row.Reason, &row.Lead); err != nil {
			return nil, fmt.Errorf("ledger: import: %w", err)
		}
		list = append(list, row)
	}
	return list, rows.Err()
}
