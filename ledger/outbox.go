package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// Post puts messages into the outbox and returns those that are to be delivered:
// not those whose content went to the same sink on that day already.
func (s *Store) Post(ctx context.Context, tx *sql.Tx, deliveries ...Delivery) (fresh []Delivery, err error) {
	if len(deliveries) == 0 {
		return nil, nil
	}
	slices.SortFunc(deliveries, func(a, b Delivery) int { // so that transactions cannot wait for each other
		return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.OperationKey, b.OperationKey))
	})
	const columns = 9
	var cells []any
	for _, d := range deliveries {
		cells = append(cells, d.ID, d.Lead, d.Account, d.Subject, d.Sink, d.OperationKey, d.Version, millis(d.CreatedAt), string(d.Payload))
	}
	operand, args := s.operand(columns, cells)
	ids, err := idsOf(tx.QueryContext(ctx, s.insertNew()+` outbox (id, lead, account, subject, sink, operation_key, version, created_at, payload) `+
		operand+` ON CONFLICT (sink, operation_key) DO NOTHING RETURNING id`, args...))
	if err != nil {
		return nil, fmt.Errorf("ledger: post: %w", err)
	}
	for _, d := range deliveries {
		if ids[d.ID] {
			fresh = append(fresh, d)
		}
	}
	return fresh, nil
}

// idsOf reads rows that are ids.
func idsOf(rows *sql.Rows, err error) (map[string]bool, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, rows.Err()
}

// DeliveryIn returns one delivery, in a transaction. ErrUnknown: there is none.
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
	d, err := s.dispatches.Ask(ctx, id)
	if err == nil && d.ID == "" {
		err = ErrUnknown
	}
	return d, err
}

func (s *Store) dispatch(ctx context.Context, ids []string) ([]Dispatch, error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	among, args := s.among(1, ids)
	rows, err := s.reader.QueryContext(ctx, `SELECT `+deliveryColumns+`,
		COALESCE((SELECT version FROM outbox_heads h WHERE h.sink = outbox.sink AND h.subject = outbox.subject), 0),
		(SELECT email FROM leads WHERE leads.id = outbox.lead)
		FROM outbox WHERE id `+among, args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: dispatch: %w", err)
	}
	defer rows.Close()
	found := map[string]Dispatch{}
	for rows.Next() {
		var d Dispatch
		var address sql.NullString
		if d.Delivery, err = scanDelivery(rows, &d.Head, &address); err != nil {
			return nil, fmt.Errorf("ledger: dispatch: %w", err)
		}
		d.LeadKept, d.Address = address.Valid, address.String
		found[d.ID] = d
	}
	all := make([]Dispatch, len(ids))
	for i, id := range ids {
		all[i] = found[id]
	}
	return all, rows.Err()
}

// DeliveryEnd is how a delivery ends.
type DeliveryEnd struct {
	Delivery Delivery
	State    DeliveryState
	Reason   string
}

// EndDeliveries ends pending deliveries and tells for each whether it did: not
// for one that has ended already, or that comes twice.
func (s *Store) EndDeliveries(ctx context.Context, tx *sql.Tx, ends ...DeliveryEnd) (ended []bool, err error) {
	now := millis(time.Now())
	var cells []any
	held := make([]string, len(ends))
	for i, end := range ends {
		held[i] = end.Delivery.ID
		cells = append(cells, end.Delivery.ID, end.State, end.Reason, now, DeliveryPending)
	}
	if err := s.hold(ctx, tx, "outbox", held); err != nil {
		return nil, fmt.Errorf("ledger: end deliveries: %w", err)
	}
	operand, args := s.operand(5, cells) // with the state as a cell, as in End
	ids, err := idsOf(tx.QueryContext(ctx, `UPDATE outbox SET state = e.column2, reason = e.column3, attempts = attempts + 1, ended_at = e.column4
		FROM (`+operand+`) AS e WHERE id = e.column1 AND state = e.column5 RETURNING id`, args...))
	if err != nil {
		return nil, fmt.Errorf("ledger: end deliveries: %w", err)
	}
	ended = make([]bool, len(ends))
	heads := map[[2]string]int64{}
	for i, end := range ends {
		ended[i] = ids[end.Delivery.ID]
		delete(ids, end.Delivery.ID) // the same one again finds it ended
		if ended[i] && end.State == DeliveryDone {
			of := [2]string{end.Delivery.Sink, end.Delivery.Subject}
			heads[of] = max(heads[of], end.Delivery.Version)
		}
	}
	if err := s.moveHeads(ctx, tx, heads); err != nil {
		return nil, fmt.Errorf("ledger: end deliveries: %w", err)
	}
	return ended, nil
}

// moveHeads writes the highest versions down that sinks were given about
// subjects.
func (s *Store) moveHeads(ctx context.Context, tx *sql.Tx, heads map[[2]string]int64) error {
	if len(heads) == 0 {
		return nil
	}
	var cells []any
	for _, of := range slices.SortedFunc(maps.Keys(heads), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		cells = append(cells, of[0], of[1], heads[of])
	}
	operand, args := s.operand(3, cells)
	_, err := tx.ExecContext(ctx, `INSERT INTO outbox_heads (sink, subject, version) `+operand+` ON CONFLICT (sink, subject) DO UPDATE SET version =
		CASE WHEN outbox_heads.version > excluded.version THEN outbox_heads.version ELSE excluded.version END`, args...)
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
