package enrich

import "time"

// LimitShape is how a limit's units come back.
type LimitShape string

// The shapes of a limit.
const (
	TokenBucket LimitShape = "token_bucket" // Amount per Window flows in, at most Burst are kept
	FixedWindow LimitShape = "fixed"        // Amount at the start of each aligned Window
	Sliding     LimitShape = "sliding"      // at most Amount in any Window
	Concurrency LimitShape = "concurrency"  // at most Amount under way
)

// Unit is what a limit counts.
type Unit string

// The units of a limit.
const (
	Requests Unit = "requests" // calls
	Entities Unit = "entities" // subjects asked for
	Money    Unit = "money"    // micros charged
)

// Limit is what a vendor allows one account: so many units per window. All of a
// provider's limits hold at once.
type Limit struct {
	// Name tells limits of one provider apart in metrics and logs: "minute".
	Name  string     `yaml:"name"`
	Shape LimitShape `yaml:"shape"`
	// Unit; empty: requests.
	Unit   Unit  `yaml:"unit"`
	Amount int64 `yaml:"amount"`
	// Window is the time in which Amount may be spent; 0 for concurrency.
	Window time.Duration `yaml:"window"`
	// Burst is the most that a token bucket keeps; 0: Amount.
	Burst int64 `yaml:"burst"`
	// Calendar makes a fixed window follow the calendar instead of Window:
	// "day" or "month", in Zone, beginning at ResetAt.
	Calendar string `yaml:"calendar"`
	// Zone is an IANA time zone; empty: UTC.
	Zone string `yaml:"zone"`
	// ResetAt is the time of day at which a calendar window begins ("00:00").
	ResetAt string `yaml:"reset_at"`
	// Operations the limit counts, as the definition names them ("person",
	// "poll"); empty: all.
	Operations []string `yaml:"operations"`
}

// LimitState is what a vendor's answer said about one of its limits.
type LimitState struct {
	// Name of the Limit.
	Name string
	// Limit and Remaining are units; -1 when the answer did not say.
	Limit     int64
	Remaining int64
	// ResetAt is when Remaining is full again; zero when unknown.
	ResetAt time.Time
}

// PauseReason is why a provider may not be called at all.
type PauseReason string

// The reasons of a pause.
const (
	PausedByHint     PauseReason = "retry_after"     // the vendor said when to come back
	PausedByDefault  PauseReason = "rate_limited"    // it refused without saying when
	PausedByBlock    PauseReason = "blocked"         // a penalty period
	PausedByQuota    PauseReason = "quota_exhausted" // the period's allowance is spent
	PausedByAuth     PauseReason = "auth_failed"     // until the operator acts
	PausedByScope    PauseReason = "forbidden"       // until the operator acts
	PausedByBreaker  PauseReason = "breaker_open"    // it fails, as one of the replicas found
	PausedByOperator PauseReason = "operator"
)
