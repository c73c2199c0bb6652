package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// ErrReused is the error of an event that says something else than the one that
// came before under its id.
var ErrReused = errors.New("ledger: the id was used with other content")

// Reception is an event that came in.
type Reception struct {
	Account string
	// Event is its id: the same for every delivery.
	Event string
	// Lead that it brought.
	Lead string
	// Content is all that it says, the same bytes for every delivery. A keyed
	// digest of it is kept.
	Content []byte
}

// Received remembers that an event came in, and returns the lead that it brought
// the first time. ErrReused: then it said something else.
func (s *Store) Received(ctx context.Context, tx *sql.Tx, r Reception) (lead string, err error) {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(r.Content)
	digest := hex.EncodeToString(mac.Sum(nil))
	result, err := tx.ExecContext(ctx, `INSERT INTO events (account, event, lead, received_at, digest) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account, event) DO NOTHING`, r.Account, r.Event, r.Lead, millis(time.Now()), digest)
	if err != nil {
		return "", fmt.Errorf("ledger: event: %w", err)
	}
	if count, err := result.RowsAffected(); err != nil || count == 1 {
		return r.Lead, err
	}
	var first string
	err = tx.QueryRowContext(ctx, `SELECT lead, digest FROM events WHERE account = $1 AND event = $2`, r.Account, r.Event).Scan(&lead, &first)
	switch {
	case err != nil:
		return "", fmt.Errorf("ledger: event: %w", err)
	case first != "" && first != digest: // empty: it came before digests were kept
		return "", ErrReused
	}
	return lead, nil
}
