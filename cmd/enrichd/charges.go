package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// jobsChargesCommand exports the ledger. It prints JSON with and without --json.
type jobsChargesCommand struct {
	operatorFlags
	Since string `help:"Only those from this day on (UTC), such as 2026-01-31, or this time (RFC 3339)." placeholder:"DAY"`
}

// Run prints one charge a line.
func (c *jobsChargesCommand) Run(ctx context.Context, terminal terminal) error {
	request := &enrichv1.ExportLedgerRequest{}
	if c.Since != "" {
		since, err := time.Parse(time.DateOnly, c.Since)
		if err != nil {
			since, err = time.Parse(time.RFC3339, c.Since)
		}
		if err != nil {
			return fmt.Errorf("--since: %q is no day such as 2026-01-31 and no time", c.Since)
		}
		request.Since = timestamppb.New(since)
	}
	return c.ask(ctx, func(ctx context.Context, of services) error {
		charges, err := of.admin.ExportLedger(ctx, request)
		for err == nil {
			var charge *enrichv1.Charge
			if charge, err = charges.Recv(); err == nil {
				err = printMessage(terminal.out, charge, true)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
}
