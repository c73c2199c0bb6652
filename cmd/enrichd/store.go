package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/ledger"
)

// storeCommand works with the store of accepted work.
type storeCommand struct {
	Migrate storeMigrateCommand `cmd:"" help:"Copy the store into an empty PostgreSQL database, while the service is stopped."`
}

// storeMigrateCommand copies a store.
type storeMigrateCommand struct {
	Config string `short:"c" required:"" type:"existingfile" help:"The configuration, whose store is copied." placeholder:"FILE"`
	To     string `required:"" env:"ENRICHD_STORE_TO" help:"The connection string of the database to copy into, better given as ENRICHD_STORE_TO: arguments can be seen by others." placeholder:"DSN"`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run copies everything and tells how many leads there are then.
func (c *storeMigrateCommand) Run(ctx context.Context, terminal terminal) (err error) {
	loaded, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	if !loaded.AcceptsLeads() {
		return errors.New("the configuration has no store")
	}
	from, err := ledger.Open(ctx, loaded.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := ledger.Open(ctx, ledger.Config{PostgreSQL: c.To})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := from.CopyTo(ctx, to); err != nil {
		return err
	}
	counts, err := to.Counts(ctx)
	if err != nil {
		return err
	}
	var copied struct {
		Leads int64 `json:"leads"`
	}
	for _, count := range counts {
		copied.Leads += count.Leads
	}
	if c.JSON {
		return json.NewEncoder(terminal.out).Encode(copied)
	}
	fmt.Fprintf(terminal.out, "copied, %d leads; now set store.postgresql and start the service: it rebuilds the queue\n", copied.Leads)
	return nil
}
