// Package ledger holds what was accepted, answered, paid and delivered, and may
// not forget any of it: the tables of durable work, with one schema for SQLite
// (one machine) and PostgreSQL (many).
//
//	         accept          claim               finish
//	caller ────────▶ none ────────▶ processing ────────▶ done | partial | not_found
//	                  ▲                 │   └──────────▶ error, with a dead letter
//	                  └─────────────────┘
//	              wait, failed try, crash
//
// What is written together is written in one transaction, [Store.Write]. The
// methods that take a *sql.Tx are its statements.
package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/enrichd/enrichd/email"
)

// Config says where the ledger lies. The zero Config is a SQLite file at the
// default place.
type Config struct {
	// Path of the SQLite file, on a local disk: write-ahead logging does not
	// work on a network file system. Its folder is made. Default
	// "data/enrichd.db".
	Path string `yaml:"path"`
	// PostgreSQL is the connection string of a database to use instead of a
	// file. Default: none.
	PostgreSQL string `yaml:"postgresql" secret:"true"`
	// Connections is the most connections to PostgreSQL. Fewer make workers wait
	// for each other. Default 16.
	Connections int `yaml:"connections"`
	// Node names this process as the owner of work. It is the same after a
	// restart and no other process has it, so that what a crash left behind is
	// taken up at once. Of several that have it all but the first add a number.
	// Default: the host's name.
	Node string `yaml:"node"`
}

const (
	defaultPath        = "data/enrichd.db"
	defaultConnections = 16
	// answersWithin is how long PostgreSQL may take for a transaction or a look-up,
	// the wait for a connection included: somebody waits for it. One that hangs is
	// then as good as one that is down.
	answersWithin = 10 * time.Second
	// reportsWithin is the same for what may go through whole tables.
	reportsWithin = time.Minute
)

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.Path == "" {
		c.Path = defaultPath
	}
	if c.Connections == 0 {
		c.Connections = defaultConnections
	}
	if c.Node == "" {
		c.Node, _ = os.Hostname()
	}
	if c.Node == "" {
		c.Node = "enrichd"
	}
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	if c.Connections < 0 {
		problems = append(problems, fmt.Errorf("connections: %d is negative", c.Connections))
	}
	if c.PostgreSQL != "" && c.Path != "" && c.Path != defaultPath {
		problems = append(problems, errors.New("path: set either path or postgresql"))
	}
	if c.PostgreSQL != "" {
		if _, err := postgresOf(c.PostgreSQL); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// Store is an open ledger. It is safe for concurrent use.
type Store struct {
	node   string
	sqlite bool
	writer *sql.DB
	reader *sql.DB
	group  *group   // SQLite only
	lock   *os.File // SQLite only
	// unwiped is set while the log may hold what was erased; SQLite only.
	unwiped atomic.Bool
	opener  int32          // PostgreSQL only: by which its connections are told from others'
	within  time.Duration  // answersWithin
	keeping sync.WaitGroup // answers that nobody waits for any more
	secret  []byte
	// What workers of all lanes ask for at once; those of the bulk lane make way.
	claims, patientClaims *Batcher[wish, Lead]
	answers               *Batcher[answered, struct{}]
	dispatches            *Batcher[string, Dispatch]
}

// Open opens the ledger and brings its tables up to date. Close it.
func Open(ctx context.Context, config Config) (*Store, error) {
	config = config.WithDefaults()
	open := openSQLite
	if config.PostgreSQL != "" {
		open = openPostgres
	}
	store, err := open(ctx, config)
	if err != nil {
		return nil, err
	}
	store.node, store.within = config.Node, answersWithin
	store.claims = Together(store.claimer(store.Write))
	store.patientClaims = Together(store.claimer(store.MakeWay))
	store.dispatches = Together(store.dispatch)
	store.answers = Together(store.keepAnswers)
	if err := errors.Join(store.Exclusively(ctx, store.migrate)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if store.secret, err = store.ownSecret(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// Close waits for the writes under way and closes the databases.
func (s *Store) Close() error {
	s.keeping.Wait()
	if s.group != nil {
		s.group.close()
	}
	err := s.writer.Close()
	if s.reader != s.writer {
		err = errors.Join(err, s.reader.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// Node is the name of this process as the owner of work, for good after
// [Store.TakeName].
func (s *Store) Node() string { return s.node }

// IsSQLite tells whether this process alone has the database.
func (s *Store) IsSQLite() bool { return s.sqlite }

// Pool is for the queue's engine only: with SQLite it has one connection, so
// that whoever uses it inside of Write waits for ever.
func (s *Store) Pool() *sql.DB { return s.writer }

// Readers is for the queue's engine only: with SQLite whoever looks there does not
// wait for the one who writes.
func (s *Store) Readers() *sql.DB { return s.reader }

// Writing is Write or MakeWay of a Store.
type Writing func(context.Context, func(context.Context, *sql.Tx) error) error

// Write runs the statements of work in one transaction. When it returns nil
// they lie on the disk; with an error none of them counts, unless it is
// context.DeadlineExceeded: nobody knows what a PostgreSQL that hangs still does.
// work is given a context that ctx does not cancel, uses nothing but the
// transaction, and may be run beside others' work in the same transaction: it
// does not end it.
func (s *Store) Write(ctx context.Context, work func(context.Context, *sql.Tx) error) error {
	return s.write(ctx, s.within, work)
}

func (s *Store) write(ctx context.Context, within time.Duration, work func(context.Context, *sql.Tx) error) error {
	if s.group != nil {
		return s.group.write(ctx, s.group.urgent, work)
	}
	return s.transact(ctx, within, work)
}

// MakeWay is Write for work that nobody waits for: where the ledger has one
// writer, what others Write goes first.
func (s *Store) MakeWay(ctx context.Context, work func(context.Context, *sql.Tx) error) error {
	return s.makeWay(ctx, s.within, work)
}

func (s *Store) makeWay(ctx context.Context, within time.Duration, work func(context.Context, *sql.Tx) error) error {
	if s.group != nil {
		return s.group.write(ctx, s.group.patient, work)
	}
	return s.transact(ctx, within, work)
}

func (s *Store) transact(ctx context.Context, within time.Duration, work func(context.Context, *sql.Tx) error) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("ledger: not done within %s: %w: %w", within, ctx.Err(), err)
		}
	}()
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("ledger: begin: %w", err)
	}
	defer tx.Rollback()
	if err := perform(ctx, tx, work); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("ledger: commit: %w", err)
	}
	return nil
}

// bound bounds a read from PostgreSQL.
func (s *Store) bound(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	if s.sqlite {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, within)
}

// SubjectKey is the stable record key of a subject: a keyed hash, so that no
// address can be tried against it without the ledger's secret.
func (s *Store) SubjectKey(key email.Key) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(key.Reveal()))
	return hex.EncodeToString(mac.Sum(nil))
}

// ownSecret returns the secret behind SubjectKey, made when the ledger was.
func (s *Store) ownSecret(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, sha256.Size)
	rand.Read(fresh)
	err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO settings (name, value) VALUES ('subject_secret', $1)
			ON CONFLICT (name) DO NOTHING`, hexed(fresh))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: the secret of subjects: %w", err)
	}
	var kept string
	if err := s.reader.QueryRowContext(ctx, `SELECT value FROM settings WHERE name = 'subject_secret'`).Scan(&kept); err != nil {
		return nil, fmt.Errorf("ledger: the secret of subjects: %w", err)
	}
	return hex.DecodeString(kept)
}

func hexed(secret []byte) string { return hex.EncodeToString(secret) }

// NewID returns a fresh id; later ones sort after earlier ones.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// millis is a time as the tables hold it; the zero time is 0.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
