package deadletter

import (
	"context"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/ledger"
)

// Digest is the daily message about what needs a person. It holds counts alone.
type Digest struct {
	At time.Time `json:"at"`
	// Stuck is how many leads are in work since before the limit.
	Stuck int `json:"stuck"`
	// Overdue is how many wait since before the limit.
	Overdue int `json:"overdue"`
	// Lines has one for each reason of dead letters that are open beyond the
	// limit.
	Lines []DigestLine `json:"lines"`
}

// DigestLine is one reason.
type DigestLine struct {
	ledger.DeadCount
	Remedy string `json:"remedy"`
	Text   string `json:"text"`
}

// mostCounted bounds what a digest counts one by one.
const mostCounted = 1000

// MakeDigest tells what is stuck or waits for longer than waits, and which dead
// letters are open for longer than open. Nil: nothing is.
func (i *Inbox) MakeDigest(ctx context.Context, now time.Time, waits, open time.Duration) (*Digest, error) {
	digest := &Digest{At: now.UTC()}
	stuck, err := i.Store.Leads(ctx, ledger.Filter{StuckSince: now.Add(-waits), Most: mostCounted})
	if err != nil {
		return nil, err
	}
	overdue, err := i.Store.Leads(ctx, ledger.Filter{States: []ledger.State{ledger.StateNone}, AcceptedBefore: now.Add(-waits), Most: mostCounted})
	if err != nil {
		return nil, err
	}
	digest.Stuck, digest.Overdue = len(stuck), len(overdue)
	counts, err := i.Store.CountDead(ctx, ledger.DeadFilter{Before: now.Add(-open)})
	if err != nil {
		return nil, err
	}
	for _, count := range counts {
		line := DigestLine{DeadCount: count, Remedy: Reasons[count.Reason].Remedy}
		line.Text = fmt.Sprintf("%d × %s", count.Letters, count.Reason)
		if count.Provider != "" {
			line.Text += " at " + count.Provider
		}
		line.Text += fmt.Sprintf(", oldest since %s: %s", count.Oldest.UTC().Format(time.DateOnly), line.Remedy)
		digest.Lines = append(digest.Lines, line)
	}
	if digest.Stuck+digest.Overdue+len(digest.Lines) == 0 {
		return nil, nil
	}
	return digest, nil
}
