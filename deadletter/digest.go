package deadletter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/enrichd/enrichd/ledger"
)

// Digest is the daily message about what needs a person. It holds counts alone.
type Digest struct {
	Type string    `json:"type"` // "digest"
	At   time.Time `json:"at"`
	// Lines has one for each reason of what is stuck, waits, or is a dead letter
	// beyond its limit.
	Lines []DigestLine `json:"lines"`
}

// DigestLine is one reason: of a dead letter, or one of the words below.
type DigestLine struct {
	ledger.DeadCount
	Remedy string `json:"remedy"`
	Text   string `json:"text"`
}

// The reasons of leads that no dead letter tells of, with what to do.
var overdue = []struct {
	reason, remedy string
	filter         func(before time.Time) ledger.Filter
	since          func(ledger.Lead) time.Time
}{
	{"stuck", "see whether its worker lives, and reset it", func(before time.Time) ledger.Filter { return ledger.Filter{StuckSince: before} },
		func(lead ledger.Lead) time.Time { return lead.StartedAt }},
	{"waiting", "see what is paused, and whether quotas allow for so many", func(before time.Time) ledger.Filter {
		return ledger.Filter{States: []ledger.State{ledger.StateNone}, AcceptedBefore: before}
	}, func(lead ledger.Lead) time.Time { return lead.AcceptedAt }},
}

// mostCounted bounds the leads that a line of a digest counts: there are so many
// or more.
const mostCounted = 1000

// MakeDigest tells what is stuck or waits for longer than waits, and which dead
// letters are open for longer than open. Nil: nothing is.
func (i *Inbox) MakeDigest(ctx context.Context, now time.Time, waits, open time.Duration) (*Digest, error) {
	digest := &Digest{Type: digestMark, At: now.UTC()}
	for _, each := range overdue {
		filter := each.filter(now.Add(-waits))
		filter.Most = mostCounted
		leads, err := i.Store.Leads(ctx, filter)
		if err != nil {
			return nil, err
		}
		if len(leads) > 0 {
			oldest := slices.MinFunc(leads, func(a, b ledger.Lead) int { return each.since(a).Compare(each.since(b)) })
			digest.Lines = append(digest.Lines, digestLine(ledger.DeadCount{Kind: ledger.DeadLead, Reason: each.reason,
				Letters: int64(len(leads)), Oldest: each.since(oldest)}, each.remedy))
		}
	}
	counts, err := i.Store.CountDead(ctx, ledger.DeadFilter{Before: now.Add(-open)})
	if err != nil {
		return nil, err
	}
	for _, count := range counts {
		digest.Lines = append(digest.Lines, digestLine(count, Reasons[count.Reason].Remedy))
	}
	if len(digest.Lines) == 0 {
		return nil, nil
	}
	return digest, nil
}

func digestLine(count ledger.DeadCount, remedy string) DigestLine {
	line := DigestLine{DeadCount: count, Remedy: remedy, Text: fmt.Sprintf("%d × %s", count.Letters, count.Reason)}
	if count.Provider != "" {
		line.Text += " at " + count.Provider
	}
	line.Text += fmt.Sprintf(", oldest since %s: %s", count.Oldest.UTC().Format(time.DateOnly), remedy)
	return line
}
