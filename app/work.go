package app

import (
	"context"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/telemetry"
)

const (
	countEvery = 15 * time.Second
	// countShare bounds what counting costs a large ledger: it rests so many
	// times as long as it took.
	countShare = 50
	// countWithin bounds one count, and countRest the rest after it: a database
	// that hung for a minute is no large ledger.
	countWithin = 30 * time.Second
	countRest   = 5 * time.Minute
)

// countOn keeps what metrics say of accepted work fresh until ctx ends. While
// it cannot be counted they say nothing.
func (l *leads) countOn(ctx context.Context) { l.keepCounting(ctx, l.count) }

func (l *leads) keepCounting(ctx context.Context, count func(context.Context) (*telemetry.Work, error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	fails := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		within, cancel := context.WithTimeout(ctx, countWithin)
		work, err := count(within)
		cancel()
		if ctx.Err() != nil {
			return
		}
		rest := min(max(countEvery, countShare*time.Since(began)), countRest)
		if err != nil {
			work, rest = nil, countEvery // what it took says nothing of the ledger's size
		}
		switch {
		case err != nil && !fails:
			l.log.WarnContext(ctx, "accepted work cannot be counted", "error", err)
		case err == nil && fails:
			l.log.InfoContext(ctx, "accepted work is counted again")
		}
		fails = err != nil
		l.counted.Store(work)
		timer.Reset(rest)
	}
}

// leadStates are those that leads are counted by.
var leadStates = []ledger.State{ledger.StateNone, ledger.StateProcessing, ledger.StateDone, ledger.StatePartial, ledger.StateNotFound, ledger.StateError, ledger.StateCancelled}

// count counts accepted work. Of every lane, state and sink it says how many, if
// none.
func (l *leads) count(ctx context.Context) (*telemetry.Work, error) {
	leads, err := l.store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	letters, err := l.store.CountDead(ctx, ledger.DeadFilter{})
	if err != nil {
		return nil, err
	}
	backlogs, err := l.store.Backlogs(ctx)
	if err != nil {
		return nil, err
	}
	stops, err := l.engine.Stops(ctx)
	if err != nil {
		return nil, err
	}
	work := &telemetry.Work{Leads: countLeads(leads), Letters: countLetters(letters)}
	pending := map[string]ledger.Backlog{}
	for _, sink := range l.sinks {
		pending[sink.Name()] = ledger.Backlog{}
	}
	for _, backlog := range backlogs {
		pending[backlog.Sink] = backlog
	}
	for sink, backlog := range pending {
		work.Deliveries = append(work.Deliveries, telemetry.DeliveryCount{Sink: sink, Deliveries: backlog.Deliveries, Oldest: backlog.Oldest})
	}
	seen := map[telemetry.StopOf]bool{} // a switch and the program may stop the same
	for _, stop := range stops {
		of := telemetry.StopOf{Scope: string(stop.Scope), Name: stop.Name, Reason: stop.Reason}
		if !seen[of] {
			work.Stops = append(work.Stops, of)
		}
		seen[of] = true
	}
	return work, nil
}

func countLeads(counts []ledger.Count) (all []telemetry.LeadCount) {
	type place struct {
		lane  enrich.Lane
		state ledger.State
	}
	known := map[place]ledger.Count{}
	for _, count := range counts {
		known[place{count.Lane, count.State}] = count
	}
	for _, lane := range enrich.Lanes {
		for _, state := range leadStates {
			count := known[place{lane, state}]
			of := telemetry.LeadCount{Lane: lane, State: string(state), Leads: count.Leads}
			if state == ledger.StateNone {
				of.Waiting = count.Oldest
			}
			all = append(all, of)
		}
	}
	return all
}

// countLetters adds up the providers of each reason.
func countLetters(counts []ledger.DeadCount) (all []telemetry.LetterCount) {
	type why struct{ kind, reason string }
	sum := map[why]int64{}
	for _, count := range counts {
		sum[why{string(count.Kind), count.Reason}] += count.Letters
	}
	for of, letters := range sum {
		all = append(all, telemetry.LetterCount{Kind: of.kind, Reason: of.reason, Letters: letters})
	}
	return all
}
