package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// setUpLock is the advisory lock under which tables are made.
const setUpLock = 0x656e7269636864 // "enrichd"

func openPostgres(ctx context.Context, config Config) (*Store, error) {
	parsed, err := pgx.ParseConfig(config.PostgreSQL)
	if err != nil {
		return nil, errors.New("ledger: postgresql: the connection string cannot be read") // the cause repeats it, password and all
	}
	client := clientPrefix + uuid.NewString()
	parsed.RuntimeParams["application_name"] = client
	pool := stdlib.OpenDB(*parsed)
	pool.SetMaxOpenConns(config.Connections)
	pool.SetMaxIdleConns(config.Connections)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: open: %w", err), pool.Close())
	}
	return &Store{writer: pool, reader: pool, client: client}, nil
}

// RefusesText tells whether an error is about a text that cannot be stored or
// looked for: it holds a NUL, or is not UTF-8. Whoever sent it is to blame.
func RefusesText(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, errText) || errors.As(err, &refused) && refused.Code == "22021" // character_not_in_repertoire
}

// clientPrefix begins the name by which PostgreSQL knows a Store's connections.
const clientPrefix = "enrichd-"

// alone is ErrInUse when another Store has the ledger open. Of a file none can.
func (s *Store) alone(ctx context.Context) error {
	if s.sqlite {
		return nil
	}
	var others bool
	err := s.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
		AND application_name LIKE $1 AND application_name <> $2)`, clientPrefix+"%", s.client).Scan(&others)
	if err == nil && others {
		err = ErrInUse
	}
	return err
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
