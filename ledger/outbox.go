package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending    DeliveryState = "pending"
	DeliveryDone       DeliveryState = "delivered"
	DeliverySuperseded DeliveryState = "superseded" // something newer was delivered before it
	DeliveryError      DeliveryState = "error"      // given up; a dead letter says why
	DeliveryCancelled  DeliveryState = "cancelled"  // the subject objected
)

// Delivery is one message for one sink, written down together with the work
// that it tells of.
type Delivery struct {
	ID      string
	Lead    string
	Account string
	// Subject is the record key: the same for all that is ever delivered about
	// one subject.
	Subject string
	Sink    string
	// OperationKey is the same for all attempts to deliver the same content
	// about a subject on one day.
	OperationKey string
	// Version orders deliveries about a subject: a lower one is never delivered
	// after a higher.
	Version  int64
	State    DeliveryState
	Attempts int
	// Reopened is how often it was.
	Reopened  int64
	Reason    string
	CreatedAt time.Time
	// Payload is personal data, empty once erased.
	Payload []byte
}

const deliveryColumns = `id, lead, account, subject, sink, operation_key, version, state, attempts, reopened, reason, created_at, payload`

// scanDelivery scans a delivery, and further columns into more.
func scanDelivery(row scanner, more ...any) (Delivery, error) {
	var d Delivery
	var created int64
	var payload string
	err := row.Scan(append([]any{&d.ID, &d.Lead, &d.Account, &d.Subject, &d.Sink, &d.OperationKey, &d.Version, &d.State, &d.Attempts,
		&d.Reopened, &d.Reason, &created, &payload}, more...)...)
	d.CreatedAt, d.Payload = fromMillis(created), []byte(payload)
	return d, err
}

// Post puts a message into the outbox. It returns false, and nothing is to be
// delivered, when the same content went there on that day already.
func (s *Store) Post(ctx context.Context, tx *sql.Tx, d Delivery) (fresh bool, err error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO outbox (id, lead, account, subject, sink, operation_key, version, created_at, payload)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (sink, operation_key) DO NOTHING`,
		d.ID, d.Lead, d.Account, d.Subject, d.Sink, d.OperationKey, d.Version, millis(d.CreatedAt), string(d.Payload))
	if err != nil {
		return false, fmt.Errorf("ledger: post: %w", err)
	}
	count, err := result.RowsAffected()
	return count == 1, err
}

// Delivery returns one delivery. ErrUnknown: there is none.
func (s *Store) Delivery(ctx context.Context, id string) (Delivery, error) {
	d, err := scanDelivery(s.reader.QueryRowContext(ctx, `SELECT `+deliveryColumns+` FROM outbox WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Delivery{}, ErrUnknown
	}
	return d, err
}

// DeliveryIn is Delivery in a transaction.
func (s *Store) DeliveryIn(ctx context.Context, tx *sql.Tx, id string) (Delivery, error) {
	d, err := scanDelivery(tx.QueryRowContext(ctx, `SELECT `+deliveryColumns+` FROM outbox WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Delivery{}, ErrUnknown
	}
	return d, err
}

// Dispatch is a delivery with what decides whether it is made.
type Dispatch struct {
	Delivery
	// Head is the highest version that the sink was given about the subject; 0:
	// none.
	Head int64
	// LeadKept is false when the lead has been deleted, its time being over.
	LeadKept bool
	// Address of the lead, empty once erased.
	Address string
}

// Dispatch returns a delivery for its making. ErrUnknown: there is none.
func (s *Store) Dispatch(ctx context.Context, id string) (Dispatch, error) {
	var d Dispatch
	var address sql.NullString
	var err error
	d.Delivery, err = scanDelivery(s.reader.QueryRowContext(ctx, `SELECT `+deliveryColumns+`,
		COALESCE((SELECT version FROM outbox_heads h WHERE h.sink = outbox.sink AND h.subject = outbox.subject), 0),
		(SELECT email FROM leads WHERE leads.id = outbox.lead)
		FROM outbox WHERE id = $1`, id), &d.Head, &address)
	if errors.Is(err, sql.ErrNoRows) {
		return Dispatch{}, ErrUnknown
	}
	d.LeadKept, d.Address = address.Valid, address.String
	return d, err
}

// EndDelivery ends a pending delivery. ErrTaken: it has ended already.
func (s *Store) EndDelivery(ctx context.Context, tx *sql.Tx, d Delivery, state DeliveryState, reason string) error {
	result, err := tx.ExecContext(ctx, `UPDATE outbox SET state = $1, reason = $2, attempts = attempts + 1, ended_at = $3
		WHERE id = $4 AND state = 'pending'`, state, reason, millis(time.Now()), d.ID)
	if err := oneRow(result, err, ErrTaken); err != nil || state != DeliveryDone {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO outbox_heads (sink, subject, version) VALUES ($1, $2, $3)
		ON CONFLICT (sink, subject) DO UPDATE SET version =
		CASE WHEN outbox_heads.version > excluded.version THEN outbox_heads.version ELSE excluded.version END`, d.Sink, d.Subject, d.Version)
	return err
}

// TriedDelivery counts an attempt that failed.
func (s *Store) TriedDelivery(ctx context.Context, tx *sql.Tx, id, reason string) (attempts int, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE outbox SET attempts = attempts + 1, reason = $1 WHERE id = $2 AND state = 'pending'
		RETURNING attempts`, reason, id).Scan(&attempts)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrTaken
	}
	return attempts, err
}

// ReopenDelivery makes a delivery pending again that was given up.
func (s *Store) ReopenDelivery(ctx context.Context, tx *sql.Tx, id string) error {
	result, err := tx.ExecContext(ctx, `UPDATE outbox SET state = 'pending', reason = '', attempts = 0, reopened = reopened + 1, ended_at = 0
		WHERE id = $1 AND state = 'error'`, id)
	return oneRow(result, err, ErrLive)
}
