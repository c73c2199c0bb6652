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
	Inbox *Inbox
	// At is the time of day, in UTC.
	At time.Duration
	// Waits is how long a lead may wait or be in work, Open how long a dead
	// letter may be open, before the digest tells of it. 0: a day.
	Waits time.Duration
	Open  time.Duration
	// Send hands a message over; its id is the same for every attempt at one
	// day's digest. A message that failed is sent again a minute later.
	Send func(ctx context.Context, id string, body []byte) error
	Log  *slog.Logger
}

const (
	lookEvery  = time.Minute
	digestMark = "digest"
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
	day := now.UTC().Add(-d.At).Format(time.DateOnly)
	sent, err := d.Inbox.Store.Mark(ctx, digestMark)
	if err != nil || sent >= day {
		return err
	}
	digest, err := d.Inbox.MakeDigest(ctx, now, orDay(d.Waits), orDay(d.Open))
	if err != nil {
		return err
	}
	if digest != nil {
		body, err := json.Marshal(digest)
		if err != nil {
			return fmt.Errorf("deadletter: digest: %w", err)
		}
		if err := d.Send(ctx, "digest-"+day, body); err != nil {
			return fmt.Errorf("deadletter: digest: %w", err)
		}
	}
	return d.Inbox.Store.SetMark(ctx, digestMark, day)
}

func orDay(limit time.Duration) time.Duration {
	if limit == 0 {
		return 24 * time.Hour
	}
	return limit
}
