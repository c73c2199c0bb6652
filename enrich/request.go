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
	// Lane; empty: Interactive.
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
}
