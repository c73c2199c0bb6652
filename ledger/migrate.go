package ledger

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate makes the tables, or changes those of an earlier program.
func (s *Store) migrate(ctx context.Context) error {
	dialect := goose.DialectPostgres
	if s.sqlite {
		dialect = goose.DialectSQLite3
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("ledger: migrate: %w", err)
	}
	provider, err := goose.NewProvider(dialect, s.writer, files, goose.WithTableName("ledger_migrations"))
	if err != nil {
		return fmt.Errorf("ledger: migrate: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("ledger: migrate: %w", err)
	}
	return nil
}
