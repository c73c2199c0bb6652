package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Charge is what one vendor call cost. Charges are only ever added.
type Charge struct {
	// Key is the lead's id, provider and attempt: the same call cannot be
	// written down twice.
	Key      string
	Account  string
	Lead     string
	Provider string
	Charged  enrich.Charge
	At       time.Time
}

// Charge writes charges down; what stands there already stays.
func (s *Store) Charge(ctx context.Context, tx *sql.Tx, charges ...Charge) error {
	if len(charges) == 0 {
		return nil
	}
	const columns = 7
	var args []any
	for _, c := range charges {
		known := 0
		if c.Charged.Known {
			known = 1
		}
		args = append(args, c.Key, c.Account, c.Lead, c.Provider, c.Charged.Micros, known, millis(c.At))
	}
	operand, args := s.operand(columns, args)
	_, err := tx.ExecContext(ctx, s.insertNew()+` charges (charge, account, lead, provider, micros, known, charged_at) `+operand+`
		ON CONFLICT (charge) DO NOTHING`, args...)
	if err != nil {
		return fmt.Errorf("ledger: charge: %w", err)
	}
	return nil
}

// Spending is what an account spent at a provider.
type Spending struct {
	Account  string
	Provider string
	Calls    int64
	Unknown  int64 // calls whose price nobody knows
	Micros   enrich.Micros
}

// Spent sums the charges since a time by account and provider.
func (s *Store) Spent(ctx context.Context, since time.Time) (spent []Spending, err error) {
	ctx, cancel := s.bound(ctx, reportsWithin)
	defer cancel()
	rows, err := s.reader.QueryContext(ctx, `SELECT account, provider, COUNT(*), COUNT(*) - SUM(known), CAST(SUM(micros) AS BIGINT)
		FROM charges WHERE charged_at >= $1 GROUP BY account, provider ORDER BY account, provider`, millis(since))
	if err != nil {
		return nil, fmt.Errorf("ledger: spent: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one Spending
		if err := rows.Scan(&one.Account, &one.Provider, &one.Calls, &one.Unknown, &one.Micros); err != nil {
			return nil, fmt.Errorf("ledger: spent: %w", err)
		}
		spent = append(spent, one)
	}
	return spent, rows.Err()
}

// EachCharge calls each for every charge since a time, oldest first, until it
// returns an error.
func (s *Store) EachCharge(ctx context.Context, since time.Time, each func(Charge) error) error {
	rows, err := s.reader.QueryContext(ctx, `SELECT charge, account, lead, provider, micros, known, charged_at FROM charges
		WHERE charged_at >= $1 ORDER BY charged_at, charge`, millis(since))
	if err != nil {
		return fmt.Errorf("ledger: charges: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Charge
		var at int64
		var known int
		if err := rows.Scan(&c.Key, &c.Account, &c.Lead, &c.Provider, &c.Charged.Micros, &known, &at); err != nil {
			return fmt.Errorf("ledger: charges: %w", err)
		}
		c.Charged.Known, c.At = known == 1, fromMillis(at)
		if err := each(c); err != nil {
			return err
		}
	}
	return rows.Err()
}
