package judge

import (
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// Evidence is what a run left behind, to be judged.
type Evidence struct {
	Began time.Time
	// Length is how long the load lasted.
	Length time.Duration
	// Interrupted tells that somebody ended the load before its time.
	Interrupted bool

	Traffic   []Traffic
	Ledgers   []Ledger
	Processes []Process
	Marks     []Mark
	Bands     []Band
	// RedisTrips is how often Redis was asked during the load; negative: it is
	// not known.
	RedisTrips int64
}

// Ledger is one vendor's own account of the load.
type Ledger struct {
	Name    string
	Summary fakevendor.Summary
	// Entries of all calls, oldest first, but for the first Cut ones, which the
	// vendor no longer keeps.
	Entries []fakevendor.Entry
	Cut     int64
	// Quotas that held, oldest first.
	Quotas []Quota
}

// Quota is which limits a vendor had from a moment on.
type Quota struct {
	From   time.Time
	Limits []strict.Limit
}
