package enrich

// Outcome is what a vendor's answer to one call means. Which answer means
// what is said by the provider's definition, never by the status code alone.
type Outcome string

// The outcomes.
const (
	Hit            Outcome = "hit"             // all that was asked of the vendor is there
	Partial        Outcome = "partial"         // something asked is there, something is not
	Miss           Outcome = "miss"            // the vendor has finished and has nothing
	Suppressed     Outcome = "suppressed"      // refused for a legal reason or the person's objection
	Pending        Outcome = "pending"         // accepted; the result comes later
	RateLimited    Outcome = "rate_limited"    // a window or a concurrency limit is full
	Blocked        Outcome = "blocked"         // a penalty period for earlier behaviour
	QuotaExhausted Outcome = "quota_exhausted" // credits or the period's allowance are spent
	InvalidInput   Outcome = "invalid_input"   // the vendor can never answer this input
	AuthFailed     Outcome = "auth_failed"     // the key is missing, wrong, revoked or expired
	Forbidden      Outcome = "forbidden"       // the key is good, the plan excludes the operation
	Temporary      Outcome = "temporary"       // a failure that may pass
	Timeout        Outcome = "timeout"         // no answer in time
	Malformed      Outcome = "malformed"       // an unreadable or rule-breaking answer
	Expired        Outcome = "expired"         // an asynchronous job that can never be read
)

// Outcomes lists all outcomes.
var Outcomes = []Outcome{
	Hit, Partial, Miss, Suppressed, Pending, RateLimited, Blocked, QuotaExhausted,
	InvalidInput, AuthFailed, Forbidden, Temporary, Timeout, Malformed, Expired,
}

// Authoritative tells whether what the answer lacks is known to be absent.
// Only such answers ever become absences.
func (o Outcome) Authoritative() bool {
	return o == Hit || o == Partial || o == Miss || o == Suppressed
}

// Failure tells whether the outcome speaks against the vendor's health.
func (o Outcome) Failure() bool { return o == Temporary || o == Timeout || o == Malformed }
