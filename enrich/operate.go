package enrich

import "time"

// ProviderHealth is whether a provider can be asked now.
type ProviderHealth string

// The states of a provider's health.
const (
	ProviderReady       ProviderHealth = "ready"
	ProviderPaused      ProviderHealth = "paused"       // see its pause
	ProviderFailing     ProviderHealth = "failing"      // its breaker is not closed
	ProviderSwitchedOff ProviderHealth = "switched_off" // by a switch
)

// ProviderState is what an operator sees of one provider. Counters count since
// the process began.
type ProviderState struct {
	Name       string
	Definition string
	Health     ProviderHealth
	Pause      ProviderPause
	// Breaker is "closed", "open" or "half_open".
	Breaker string
	Limits  []LimitLeft
	Calls   int64
	// Outcomes counts the calls by what they ended with.
	Outcomes map[Outcome]int64
	// HitRate is the share of calls that found something, of those that found
	// something or authoritatively nothing; 0 before the first.
	HitRate float64
	Spent   Micros
}

// ProviderPause is why and until when a provider is not called. The zero
// ProviderPause is none.
type ProviderPause struct {
	Reason PauseReason
	Until  time.Time
}

// LimitLeft is what is left of one of a provider's limits in its window.
type LimitLeft struct {
	Name   string
	Unit   Unit
	Amount int64
	Left   int64
	// ResetAt is when more comes back; zero when it does so all the time.
	ResetAt time.Time
}

// SwitchScope is what a kill switch stops.
type SwitchScope string

// The scopes of a switch.
const (
	SwitchVendors  SwitchScope = "vendors"  // every vendor call
	SwitchProvider SwitchScope = "provider" // the calls to one provider
	SwitchAccount  SwitchScope = "account"  // the calls for one account
)

// Switch is a kill switch that is thrown: it stops vendor calls, while what the
// caches know is still answered.
type Switch struct {
	Scope SwitchScope
	// Name of the provider or account; empty for SwitchVendors.
	Name string
	// Reason is the operator's words.
	Reason string
	// Since is when it was thrown.
	Since time.Time
	// Configured is true for one that the configuration throws: only the
	// configuration takes it back.
	Configured bool
}

// Named is a subject as an operator names it: by one of an address and a
// domain, as typed.
type Named struct {
	Email  string
	Domain string
}

// Dropped says of one place that it no longer knows a subject or a provider's
// facts.
type Dropped struct {
	// Place is a tier, "flights", or another store of the program's.
	Place string
	// Entries is how many entries the place held and dropped; -1 when it drops
	// without counting.
	Entries int64
	// Done is false when the place could not be reached: it is to be asked
	// again.
	Done bool
}

// Erasure is the proof of what was done to forget a subject for good.
type Erasure struct {
	// Subject is the keyed hash under which the audit log has the subject.
	Subject string
	At      time.Time
	Dropped []Dropped
	// Suppressed is true once the subject is on the suppression list of every
	// replica, and no more looked up.
	Suppressed bool
}

// Complete tells whether every place has dropped the subject and it cannot come
// back.
func (e Erasure) Complete() bool {
	for _, place := range e.Dropped {
		if !place.Done {
			return false
		}
	}
	return e.Suppressed
}

// Lifted is what was done to take a subject off the suppression list.
type Lifted struct {
	// Subject is the keyed hash under which the audit log has the subject.
	Subject string
	// Was is set when the subject was on the list.
	Was bool
	// Everywhere is set when every copy of the list has been told.
	Everywhere bool
}

// Reloaded says what a reload of the configuration changed.
type Reloaded struct {
	At time.Time
	// Changed lists the paths of the fields that changed, without their values.
	Changed []string
	// Restart lists those of Changed that hold only after a restart.
	Restart []string
}

// ReasonKeyReused is the reason of the Rejected error of a request whose
// idempotency key was given to another request before.
const ReasonKeyReused = "idempotency_key_reused"
