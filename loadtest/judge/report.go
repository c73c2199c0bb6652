// Package judge says what came out of a load test, by the vendors' own ledgers
// wherever they know, and whether that is what the scenario demands.
package judge

import (
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
)

// Report is what came out of one run. It is what is kept as JSON.
type Report struct {
	Scenario string    `json:"scenario"`
	About    string    `json:"about"`
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"` // of load
	// Planned is how long the load was to last at most, in seconds, and
	// Interrupted that somebody ended the run before: then all here is of the time
	// until then, and the run has not Passed.
	Planned     float64 `json:"planned_seconds"`
	Interrupted bool    `json:"interrupted"`

	Machine string `json:"machine"`
	Commit  string `json:"commit"`
	// Replicas that were started; 0 with a service of one's own.
	Replicas int `json:"replicas"`

	// Passed is true when every check holds and nobody interrupted the run.
	Passed bool    `json:"passed"`
	Checks []Check `json:"checks"`
	// Figures by name; Meaning explains each.
	Figures map[string]float64 `json:"figures"`

	Traffic   []Traffic `json:"traffic"`
	Vendors   []Vendor  `json:"vendors"`
	Processes []Process `json:"processes"`
	Marks     []Mark    `json:"marks"`
	Bands     []Band    `json:"bands"`
}

// Check is one line of the scenario's SLO, judged.
type Check struct {
	Line   string  `json:"line"`
	Figure string  `json:"figure"`
	Value  float64 `json:"value"`
	// Known is false when the run brought no such figure; then it has not
	// passed.
	Known  bool `json:"known"`
	Passed bool `json:"passed"`
}

// Traffic is what one kind of caller saw.
type Traffic struct {
	Name    string      `json:"name"`
	Via     string      `json:"via"`
	Lane    string      `json:"lane"`
	Account string      `json:"account,omitempty"`
	Tally   drive.Tally `json:"tally"`
	// NeverAsked is how many leads more than it asked for its rate demanded; 0
	// when that was next to none.
	NeverAsked int64         `json:"never_asked"`
	Points     []drive.Point `json:"points"`
	// Examined answers; nothing when the truth is not known.
	Examined Examined `json:"examined"`
}

// Examined counts answers and failures that were compared with what the vendors
// know.
type Examined struct {
	// Known leads are those of which a vendor knows something that was asked for,
	// and Lost those of them that nothing was told about.
	Known int64 `json:"known"`
	Lost  int64 `json:"lost"`
	// Fields of the answers that had facts are those that were asked for and that
	// a vendor knows, and Missing those of them that did not come.
	Fields  int64 `json:"fields"`
	Missing int64 `json:"missing"`
	// Compared answers had facts, and Wrong ones of them a fact that is not true.
	Compared int64 `json:"compared"`
	Wrong    int64 `json:"wrong"`
}

// Vendor is what one vendor's ledger says.
type Vendor struct {
	Name  string `json:"name"`
	Calls int64  `json:"calls"`
	// Cut is how many of the calls, the oldest, are in no figure that needs them
	// one by one: the vendor no longer keeps them.
	Cut         int64 `json:"cut,omitempty"`
	RateLimited int64 `json:"rate_limited"`
	TooMany     int64 `json:"too_many"`
	Duplicates  int64 `json:"duplicates"`
	// CostMicros is what it billed.
	CostMicros int64 `json:"cost_micros"`
	// Allowed is how many calls its limits allowed during the load, in whole
	// windows; 0: it has no limits.
	Allowed float64       `json:"allowed"`
	Points  []VendorPoint `json:"points"`
}

// VendorPoint is one second of a vendor.
type VendorPoint struct {
	At int `json:"at"`
	// Admitted calls were worked on, Refused ones were not for a limit, Failed
	// ones met a fault.
	Admitted int64 `json:"admitted"`
	Refused  int64 `json:"refused"`
	Failed   int64 `json:"failed"`
	// Quota is what the limits allow per second in the long run; 0: no limit.
	Quota float64 `json:"quota"`
}

// Redis is the name of the process that is no replica.
const Redis = "redis"

// Process is what one process held over time.
type Process struct {
	Name   string         `json:"name"`
	Points []ProcessPoint `json:"points"`
}

// ProcessPoint is one second of a process.
type ProcessPoint struct {
	At int `json:"at"`
	fleet.Usage
	// CPU is the processor time used so far, in seconds.
	CPU float64 `json:"cpu"`
}

// Mark is something that was done at a moment.
type Mark struct {
	At   float64 `json:"at"` // seconds
	What string  `json:"what"`
}

// Band is a time in which something held: a fault of a vendor, a pause, an open
// breaker.
type Band struct {
	Vendor string  `json:"vendor"`
	Kind   string  `json:"kind"` // fault, pause or breaker
	What   string  `json:"what"`
	From   float64 `json:"from"` // seconds
	To     float64 `json:"to"`
}
