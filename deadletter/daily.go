package deadletter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"
)

// Daily sends one digest a day, whichever process of many does so, and nothing
// on a day on which nobody is needed.
type Daily struct {
	Inbox  *Inbox
	Config Config
	// Send hands a message over; its id is the same for every attempt at one
	// day's digest.
	Send func(ctx context.Context, id string, body []byte) error
	// Sent is told of every attempt that a shutdown did not end. It must not wait.
	Sent func(err error)
	Log  *slog.Logger
}

const (
	lookEvery = time.Minute
	// claimFor is how long one process alone may send a digest, and so how long
	// one that failed, or whose sender died, waits for the next attempt.
	claimFor   = 10 * time.Minute
	digestMark = "digest"
	claimMark  = "digest_claim"
)

// Run sends digests until ctx ends.
func (d *Daily) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := d.SendDue(ctx, time.Now()); err != nil && ctx.Err() == nil {
			d.Log.WarnContext(ctx, "the daily digest cannot be sent", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// SendDue sends the digest of the day when it is time and it was not sent.
func (d *Daily) SendDue(ctx context.Context, now time.Time) error {
	day := d.day(now)
	if sent, err := d.isSent(ctx, day); err != nil || sent {
		return err
	}
	if claimed, err := d.claim(ctx, now); err != nil || !claimed {
		return err
	}
	if sent, err := d.isSent(ctx, day); err != nil || sent { // by whoever had the claim before
		return err
	}
	config := d.Config.WithDefaults()
	digest, err := d.Inbox.MakeDigest(ctx, now, config.Waits, config.Open)
	if err != nil {
		return err
	}
	if digest != nil {
		body, err := json.Marshal(digest)
		if err != nil {
			return fmt.Errorf("deadletter: digest: %w", err)
		}
		err = d.Send(ctx, digestMark+"-"+day, body)
		if err == nil || ctx.Err() == nil { // a shutdown is no failure
			d.Sent(err)
		}
		if err != nil {
			return fmt.Errorf("deadletter: digest: %w", err)
		}
	}
	return d.Inbox.Store.SetMark(context.WithoutCancel(ctx), digestMark, day) // what was sent is not sent again
}

// day is the date whose digest is due.
func (d *Daily) day(now time.Time) string {
	at, zone := d.Config.clock()
	local := now.In(zone)
	if clock := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute; clock < at {
		local = local.AddDate(0, 0, -1)
	}
	return local.Format(time.DateOnly)
}

func (d *Daily) isSent(ctx context.Context, day string) (bool, error) {
	sent, err := d.Inbox.Store.Mark(ctx, digestMark)
	return sent >= day, err
}

// claim makes this process the only one that sends for a while.
func (d *Daily) claim(ctx context.Context, now time.Time) (bool, error) {
	before, err := d.Inbox.Store.Mark(ctx, claimMark)
	if err != nil || before > now.UTC().Format(time.RFC3339) {
		return false, err
	}
	return d.Inbox.Store.ReplaceMark(ctx, claimMark, before, now.Add(claimFor).UTC().Format(time.RFC3339))
}
