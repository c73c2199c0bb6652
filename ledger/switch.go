package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"
)

// Scope is what a switch stops.
type Scope string

// The scopes of switches. The one of ScopeAll has no name.
const (
	ScopeAll     Scope = "all"
	ScopeLane    Scope = "lane"
	ScopeAccount Scope = "account"
	ScopeSink    Scope = "sink"
)

// Switch is a stop of some work that survives restarts.
type Switch struct {
	Scope  Scope
	Name   string
	Until  time.Time // zero: until a person says so
	Reason string    // "operator", or why the program stopped by itself
	At     time.Time
}

// endless stands for a switch that only a person ends.
const endless = math.MaxInt64

// TurnOff stops work until a time; the zero time: until TurnOn. A stop that
// lasts longer is not shortened.
func (s *Store) TurnOff(ctx context.Context, stop Switch) error {
	until := int64(endless)
	if !stop.Until.IsZero() {
		until = millis(stop.Until)
	}
	err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO switches (scope, name, paused_until, reason, changed_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (scope, name) DO UPDATE SET paused_until = excluded.paused_until, reason = excluded.reason, changed_at = excluded.changed_at
			WHERE switches.paused_until < excluded.paused_until`, stop.Scope, stop.Name, until, stop.Reason, millis(time.Now()))
		return err
	})
	if err != nil {
		return fmt.Errorf("ledger: switch: %w", err)
	}
	return nil
}

// TurnOn lets work go on.
func (s *Store) TurnOn(ctx context.Context, scope Scope, name string) error {
	err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM switches WHERE scope = $1 AND name = $2`, scope, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("ledger: switch: %w", err)
	}
	return nil
}

// Switches lists what is stopped now.
func (s *Store) Switches(ctx context.Context) (stops []Switch, err error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	rows, err := s.reader.QueryContext(ctx, `SELECT scope, name, paused_until, reason, changed_at FROM switches
		WHERE paused_until > $1 ORDER BY scope, name`, millis(time.Now()))
	if err != nil {
		return nil, fmt.Errorf("ledger: switches: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var stop Switch
		var until, at int64
		if err := rows.Scan(&stop.Scope, &stop.Name, &until, &stop.Reason, &at); err != nil {
			return nil, fmt.Errorf("ledger: switches: %w", err)
		}
		stop.At = fromMillis(at)
		if until != endless {
			stop.Until = fromMillis(until)
		}
		stops = append(stops, stop)
	}
	return stops, rows.Err()
}
