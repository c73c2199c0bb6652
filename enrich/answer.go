package enrich

import (
	"cmp"
	"slices"
	"time"

	"github.com/enrichd/enrichd/email"
)

// Tier is which cache answered; empty when a vendor did.
type Tier string

// The tiers.
const (
	NoTier     Tier = ""
	MemoryTier Tier = "memory"
	RedisTier  Tier = "redis"
)

// Completeness is how much of what was wanted is in an answer.
type Completeness int

// The degrees of completeness.
const (
	NotFound Completeness = iota // nothing, and no vendor failed
	PartlyFound
	Complete // every wanted attribute has a value
)

// String returns the contract's word.
func (c Completeness) String() string {
	return [...]string{"not_found", "partial", "complete"}[c]
}

// GapKind is why a wanted attribute has no value.
type GapKind int

// The kinds of gap.
const (
	GapAbsent   GapKind = iota // the vendors that were asked have nothing
	GapFailed                  // a vendor that may know could not be asked or failed
	GapNotAsked                // nobody was asked
)

// Gap is why one wanted attribute has no value. Reason is a stable word: for a
// failure the vendor's outcome or the router's reason.
type Gap struct {
	Kind   GapKind
	Reason string
}

// The reasons of gaps that are not a vendor's outcome.
const (
	ReasonAbsent            = "absent"
	ReasonSuppressed        = "suppressed"
	ReasonNoSource          = "no_provider"          // no provider supplies the attribute
	ReasonRoleAddress       = "role_address"         // the account buys nothing for them
	ReasonDisposableAddress = "disposable_address"   // likewise
	ReasonPriced            = "priced"               // it has a price of its own: name it in fields
	ReasonNoAddress         = "no_address"           // a domain was asked
	ReasonMailProvider      = "mail_provider_domain" // the domain is no company's
	ReasonCacheOnly         = "cache_only"           // the caller wanted no vendor asked
	ReasonPaused            = "paused"               // the provider may not be called now
	ReasonStopped           = "stopped"              // the operator has switched calls off
	ReasonBreakerOpen       = "breaker_open"         // the provider is failing
	ReasonNoToken           = "no_token"             // no token of its quota in time
	ReasonOutOfTime         = string(OutOfTime)      // the budget ends first
	ReasonInFlight          = "in_flight"            // the provider was asked and has not answered yet
	ReasonMoneyCap          = "money_cap"            // it would cost more than allowed
	ReasonNotAllowed        = "not_allowed"          // the account may not ask for it there
	ReasonLowConfidence     = "low_confidence"       // the provider promises too little
)

// Provenance is where an answered fact comes from.
type Provenance struct {
	// Fact is one of a record's, not to be changed.
	Fact       *Fact
	Tier       Tier
	FreshUntil time.Time
}

// Findings are the attributes of an answer that have a value, sorted by name.
type Findings []Provenance

// Of returns what was found of an attribute: the zero Fact if nothing was.
func (f Findings) Of(a Attribute) Provenance {
	if i, found := f.place(a); found {
		return f[i]
	}
	return Provenance{Fact: &Fact{}}
}

// With returns the findings with one more, which replaces what was found of the
// same attribute. It takes f over.
func (f Findings) With(one Provenance) Findings {
	i, found := f.place(one.Fact.Attribute)
	if found {
		f[i] = one
		return f
	}
	return slices.Insert(f, i, one)
}

func (f Findings) place(a Attribute) (int, bool) {
	return slices.BinarySearchFunc(f, a, func(p Provenance, a Attribute) int { return cmp.Compare(p.Fact.Attribute, a) })
}

// Attempt is one call to a vendor.
type Attempt struct {
	Provider string
	Outcome  Outcome
	// Waited is the time before the call, for a token and between tries.
	Waited time.Duration
	// Took is the time the call took.
	Took    time.Duration
	Charged Charge
	// Shared is true when the call was made for another caller.
	Shared bool
}

// Answer is what is known about one subject pair. Every wanted attribute is in
// exactly one of Found and Gaps.
type Answer struct {
	// Address is zero when a domain was asked.
	Address email.Address
	// Domain is zero when there is no company to look up.
	Domain         email.Domain
	Completeness   Completeness
	Found          Findings
	Gaps           map[Attribute]Gap
	Attempts       []Attempt
	Cost           Micros
	IdempotencyKey string

	keepsake *keepsake // nil: its rendering is not to be kept
}

// Saved is what the facts that a cache recalled once cost.
func (a *Answer) Saved() (saved Micros) {
	for _, found := range a.Found {
		if found.Tier != NoTier {
			saved += max(0, found.Fact.Price)
		}
	}
	return saved
}
