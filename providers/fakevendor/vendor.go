package fakevendor

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// vendor is one fake vendor at work.
type vendor struct {
	name    string
	dialect *dialect
	world   truth.World
	ledger  *ledger
	purse   *purse
	jobs    *jobs

	changing sync.Mutex // held while settings are replaced
	settings atomic.Pointer[settings]
	under    atomic.Int64 // admitted calls under way
}

// settings is what can be changed while the server runs: never modified, but
// replaced as a whole.
type settings struct {
	Account Account `yaml:"account"`
	Limits  Limits  `yaml:"limits"`
	Data    Data    `yaml:"data"`
	Faults  Faults  `yaml:"faults"`

	callers map[string]*caller
	faulty  *faultClock
}

// faultClock counts the calls and the time since faults were set.
type faultClock struct {
	since time.Time
	calls atomic.Uint64
}

// newVendor makes a vendor of a valid configuration.
func newVendor(name string, v Vendor, config Config) (*vendor, error) {
	d, err := v.dialectOf(name)
	if err != nil {
		return nil, err
	}
	entries, subjects := config.LedgerEntries, config.PaidSubjects
	if entries == 0 {
		entries = defaultLedgerEntries
	}
	if subjects == 0 {
		subjects = defaultPaidSubjects
	}
	made := &vendor{
		name: name, dialect: d, world: truth.World{Seed: config.Seed},
		ledger: newLedger(entries), purse: newPurse(v.Account.Credits, subjects), jobs: newJobs(),
	}
	set := settings{Account: v.Account, Limits: v.Limits, Data: d.data, Faults: v.Faults}
	if v.Data != nil {
		set.Data = *v.Data
	}
	return made, made.install(set)
}

// install completes settings from the dialect and puts them to work. Limits
// without callers and faults without a clock begin anew.
func (v *vendor) install(set settings) error {
	prices := maps.Clone(v.dialect.prices)
	maps.Copy(prices, set.Account.Prices)
	set.Account.Prices = prices
	if set.Limits.Rules == nil {
		set.Limits.Rules = v.dialect.limits
	}
	if set.Limits.Bans == nil {
		set.Limits.Bans = v.dialect.bans
	}
	if set.callers == nil {
		callers, err := set.Limits.judges(set.Account.Keys)
		if err != nil {
			return err
		}
		set.callers = callers
	}
	if set.faulty == nil {
		set.faulty = &faultClock{since: time.Now()}
	}
	v.settings.Store(&set)
	return nil
}

// serve answers one call, whose path is what follows the vendor's name.
func (v *vendor) serve(w http.ResponseWriter, r *http.Request, path string) {
	set := v.settings.Load()
	arrived := time.Now()
	c := &call{
		vendor: v, set: set, request: r, query: r.URL.Query(),
		arrived: arrived, now: arrived.Add(set.Limits.ClockSkew),
		note: note{Entry: Entry{Time: arrived, Vendor: v.name, Operation: "unknown", Entities: 1}},
	}
	route, parameter, otherMethod := v.dialect.find(r.Method, path)
	readable := c.readBody()
	if route == nil {
		v.unknown(c, w, otherMethod)
		return
	}
	c.route, c.parameter = route, parameter
	c.note.Operation = route.operation
	c.note.IdempotencyKey = clip(r.Header.Get("Idempotency-Key"))
	c.note.key = v.dialect.key(c)
	if route.entities != nil {
		c.note.Entities = route.entities(c)
	}
	n := set.faulty.calls.Add(1)
	hit := set.Faults.strike(n, v.world.Seed, arrived.Sub(set.faulty.since), route.operation)
	c.note.Fault = hit.kind()
	if a, instead := v.instead(c, hit, n); instead {
		v.deliver(c, w, a, hit, 0)
		return
	}
	verdict, refused := v.gate(c)
	if !verdict.Admitted {
		c.note.Fault = "" // it strikes answers, and this call gets none
		v.deliver(c, w, refused, strike{}, 0)
		return
	}
	under := v.under.Add(1)
	a := v.work(c, readable)
	wait(r.Context(), hit.latency)
	c.hold(hit)
	c.caller.judge.Done(c.judged())
	v.under.Add(-1)
	v.deliver(c, w, a, hit, under)
}

// unknown answers a call that the vendor does not offer. It is no vendor's
// answer, so that a definition with a wrong path does not read it as a miss.
func (v *vendor) unknown(c *call, w http.ResponseWriter, otherMethod bool) {
	a := answer{outcome: enrich.InvalidInput, status: http.StatusNotImplemented, contentType: "text/plain; charset=utf-8",
		body: "the fake " + v.dialect.name + " has no such call\n"}
	if otherMethod {
		a.status = http.StatusMethodNotAllowed
	}
	v.deliver(c, w, a, strike{}, 0)
}

// gate lets a call in whose key is good and whose account is within its
// limits; to others it says no.
func (v *vendor) gate(c *call) (strict.Verdict, answer) {
	key := c.note.key
	known := c.set.callers[key]
	if len(c.set.Account.Keys) == 0 || key == "" {
		known = c.set.callers[anyKey]
	}
	if key == "" || known == nil {
		strangers := c.set.callers[anyKey].judge
		if until, banned := strangers.Banned(c.now); banned {
			return strict.Verdict{}, c.refuse(refusal{outcome: enrich.Blocked, limit: "ban", ready: until})
		}
		strangers.Offend("auth_failed", c.now)
		reason := "wrong"
		if key == "" {
			reason = "missing"
		}
		return strict.Verdict{}, c.refuse(refusal{outcome: enrich.AuthFailed, reason: reason})
	}
	c.caller, c.note.caller = known, known
	c.delay(known.judge)
	verdict := known.judge.Admit(c.judged(), c.now)
	switch {
	case verdict.Banned:
		return verdict, c.refuse(refusal{outcome: enrich.Blocked, limit: verdict.Limit, ready: verdict.ReadyAt})
	case !verdict.Admitted:
		return verdict, c.refuse(refusal{outcome: enrich.RateLimited, limit: verdict.Limit, ready: verdict.ReadyAt})
	}
	return verdict, answer{}
}

// delay holds a call back while a patient vendor's limits do not admit it.
func (c *call) delay(judge *strict.Judge) {
	patience := c.vendor.dialect.patience
	if patience == 0 {
		return
	}
	verdict := judge.Ask(c.judged(), c.now)
	if verdict.Admitted || verdict.Banned || verdict.ReadyAt.IsZero() {
		return
	}
	if c.delayed = verdict.ReadyAt.Sub(c.now); c.delayed > patience {
		c.delayed = 0
		return
	}
	wait(c.request.Context(), c.delayed)
	c.now = verdict.ReadyAt
}

// work is what the vendor does with an admitted call.
func (v *vendor) work(c *call, readable bool) answer {
	if !readable {
		return v.offended(c, c.invalid("unreadable"))
	}
	if left, _ := v.purse.balance(); c.route.billed && left == 0 {
		return c.spent()
	}
	return v.offended(c, c.route.answer(c))
}

// offended books an input that cannot be answered against the bans.
func (v *vendor) offended(c *call, a answer) answer {
	if a.outcome == enrich.InvalidInput {
		c.caller.judge.Offend("invalid_input", c.now)
	}
	return a
}

// judged is the call as limits see it.
func (c *call) judged() strict.Call {
	return strict.Call{Operation: c.route.operation, Entities: int64(c.note.Entities)}
}

// clip keeps a client's text within bounds.
func clip(text string) string {
	const most = 128
	if len(text) > most {
		return text[:most]
	}
	return text
}
