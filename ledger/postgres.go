package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// setUpLock is the advisory lock under which tables are made.
const setUpLock = 0x656e7269636864 // "enrichd"

func openPostgres(ctx context.Context, config Config) (*Store, error) {
	pool, err := sql.Open("pgx", config.PostgreSQL)
	if err != nil {
		return nil, errors.New("ledger: postgresql: the connection string cannot be read") // the cause repeats it, password and all
	}
	pool.SetMaxOpenConns(config.Connections)
	pool.SetMaxIdleConns(config.Connections)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: open: %w", err), pool.Close())
	}
	return &Store{writer: pool, reader: pool}, nil
}

// Exclusively runs work while no other process does so on this database.
func (s *Store) Exclusively(ctx context.Context, work func(context.Context) error) error {
	if s.sqlite { // the file is locked
		return work(ctx)
	}
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, setUpLock); err != nil {
		return fmt.Errorf("ledger: lock: %w", err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, setUpLock)
	return work(ctx)
}
