package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// setUpLock is the advisory lock under which tables are made.
const setUpLock = 0x656e7269636864 // "enrichd"

// openLock begins the advisory locks that tell who has the ledger open: each
// connection holds one, shared, whose other half is its Store's own.
const openLock = 0x656e7269 // "enri"

// applicationName is what PostgreSQL calls connections of a DSN without a name.
const applicationName = "enrichd"

// connectsWithin bounds a connection's making where the DSN does not.
const connectsWithin = 5 * time.Second

// postgresOf reads a connection string.
func postgresOf(text string) (*pgx.ConnConfig, error) {
	parsed, err := pgx.ParseConfig(text)
	scheme, _, isURL := strings.Cut(text, "://")
	foreign := isURL && !strings.Contains(scheme, "=") && scheme != "postgres" && scheme != "postgresql"
	if err != nil || foreign || strings.TrimSpace(text) == "" { // the cause repeats the text, password and all
		return nil, errors.New("postgresql: the connection string cannot be read, or a file that it names; it is like postgres://user:password@host:5432/database")
	}
	return parsed, nil
}

func openPostgres(ctx context.Context, config Config) (*Store, error) {
	parsed, err := postgresOf(config.PostgreSQL)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if parsed.ConnectTimeout == 0 {
		parsed.ConnectTimeout = connectsWithin
	}
	if parsed.RuntimeParams["application_name"] == "" {
		parsed.RuntimeParams["application_name"] = applicationName
	}
	opener := rand.Int32()
	pool := stdlib.OpenDB(*parsed, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, connectsWithin)
		defer cancel()
		_, err := conn.Exec(ctx, `SELECT pg_advisory_lock_shared($1, $2)`, int32(openLock), opener)
		return err
	}))
	pool.SetMaxOpenConns(config.Connections)
	pool.SetMaxIdleConns(config.Connections)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: open: %w", err), pool.Close())
	}
	return &Store{writer: pool, reader: pool, opener: opener}, nil
}

// RefusesText tells whether an error is about a text that cannot be stored or
// looked for: it holds a NUL, or is not UTF-8. Whoever sent it is to blame.
func RefusesText(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, errText) || errors.As(err, &refused) && refused.Code == "22021" // character_not_in_repertoire
}

// openLocks selects the locks that begin with openLock, which is $1.
const openLocks = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND classid = $1`

// alone is ErrInUse when another Store has the ledger open. Of a file none can.
func (s *Store) alone(ctx context.Context) error {
	if s.sqlite {
		return nil
	}
	var others bool
	err := s.reader.QueryRowContext(ctx, `SELECT EXISTS (`+openLocks+` AND objid <> $2)`, int32(openLock), s.opener).Scan(&others)
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
