package enrich

import "time"

// Lane is how urgent a request is.
type Lane string

// The lanes, most urgent first.
const (
	Interactive Lane = "interactive"
	Standard    Lane = "standard"
	Bulk        Lane = "bulk"
)

// CachePolicy is how the caches are used for one request.
type CachePolicy int

// The cache policies.
const (
	CacheDefault CachePolicy = iota // what is known and fresh answers
	CacheRefresh                    // vendors are asked even for what is known
	CacheOnly                       // no vendor is asked
)

// Account is who asks. Accounts come from configuration only, so their names
// may be metric labels.
type Account struct {
	Name string
	// Attributes the account may see; nil: all.
	Attributes []Attribute
	// Providers that may be asked for the account; nil: all.
	Providers []string
	// Weight is the account's share of scarce calls next to the others'; 0: 1.
	Weight int
	// RoleAddresses and DisposableAddresses allow to buy facts about the person
	// behind such an address.
	RoleAddresses       bool
	DisposableAddresses bool
	// Lanes the account may use; nil: all.
	Lanes []Lane
	// Purposes lists what the account may process data for, each with the
	// attributes it may see for it (nil: as Attributes says). With any, every
	// request names one of them; nil: purposes are not asked for.
	Purposes map[string][]Attribute
	// Plan is the router's plan for the account; empty: the default plan.
	Plan string
	// Trial is another plan for a part of the account's subjects.
	Trial Trial
	// Shadow is another plan whose answers are only compared.
	Shadow Shadow
}

// Trial has a plan used for a share of subjects: always the same ones, so that
// a subject's answers do not change with the day. The zero Trial is none.
type Trial struct {
	Plan    string
	Percent int // from 0 to 100
}

// Shadow is a plan that runs beside the account's own. What it finds is compared
// and never answered. The zero Shadow is none.
type Shadow struct {
	Plan string
	// DayCap is the most its calls may cost in a UTC day at each replica; 0:
	// nothing that has a price.
	DayCap Micros
}

// Consent is why the caller may process a person's data, as the caller says. The
// zero Consent is none.
type Consent struct {
	Basis       string
	Source      string
	CollectedAt time.Time // zero: not said
}

// Request is one question, about the person and company behind an e-mail
// address or about the company behind a domain.
type Request struct {
	Account Account
	// Email is what somebody typed. Domain is set instead of it for a company.
	Email  string
	Domain string
	// Wanted attributes; empty: all that the account may see.
	Wanted []Attribute
	// Lane; empty: the most urgent that the account may use.
	Lane Lane
	// Budget is all the time the answer may take; 0: the default. A nearer
	// deadline of the context wins.
	Budget time.Duration
	// MaxAge is the oldest fact accepted; 0: as the attribute's freshness says.
	MaxAge time.Duration
	// MaxCost is the most that vendors may charge; nil: no cap.
	MaxCost *Micros
	Cache   CachePolicy
	// IdempotencyKey travels to vendors; empty: of the address and the day.
	IdempotencyKey string
	// Purpose is one of the account's Purposes. For an account without any it is
	// only written to the audit log.
	Purpose string
	Consent Consent
	// ID names the request in logs and in the audit log.
	ID string
}
