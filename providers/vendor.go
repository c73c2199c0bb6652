package providers

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// Vendor is a vendor account described by a definition. It is safe for
// concurrent use.
type Vendor struct {
	name       string
	definition *engine.Definition
	config     ProviderConfig
	settings   map[string]string
	base       *url.URL // nil: the definition's
	timeout    time.Duration
	maxAnswer  int64
	limits     []enrich.Limit
	pricing    engine.Pricing
	transport  *http.Transport
	way        way
	tokens     *tokens // nil: the vendor uses none
	replayed   bool    // its answers were recorded
	trace      *engine.Trace
	calls      []Call
}

var _ Provider = (*Vendor)(nil)

// way is what connections of one transport have in common.
type way struct {
	proxy        string
	allowPrivate bool
}

// Call is one kind of look-up that a provider offers, as far as choosing among
// providers needs to know.
type Call struct {
	// Operation is how limits name it: "person", "company", "verify".
	Operation string
	// Kind of subject that it looks up.
	Kind enrich.SubjectKind
	// Price of a hit, without any attribute's extra; unknown when neither the
	// vendor nor the configuration tells.
	Price enrich.Charge
	// Supplies tells what it can bring, in the contract's order: first the
	// attributes of its own kind, which it is asked for.
	Supplies []Supply
}

// Supply is one attribute that a call can bring.
type Supply struct {
	Attribute enrich.Attribute
	// Confidence that the definition gives such facts when the answer does not
	// say.
	Confidence float64
	// Extra is what it adds to the price when it is found.
	Extra enrich.Micros
}

func newVendor(config ProviderConfig, definition *engine.Definition, base *url.URL) *Vendor {
	v := &Vendor{
		name: cmp.Or(config.Name, definition.Name), definition: definition, config: config, base: base,
		timeout: cmp.Or(config.Timeout, definition.Timeout), maxAnswer: cmp.Or(config.MaxAnswerBytes, definition.MaxAnswer),
		limits: config.Limits, settings: map[string]string{},
		pricing: engine.Pricing{Credit: map[string]float64{}, Plan: config.Plan},
	}
	if definition.UsesTokens() {
		v.tokens = newTokens()
	}
	if len(v.limits) == 0 {
		v.limits = definition.Limits(config.Plan)
	}
	for name, value := range definition.Settings() {
		v.settings[name] = value
		if own, set := config.Settings[name]; set {
			v.settings[name] = own
		}
	}
	for _, call := range definition.Calls() {
		if config.Credit != nil {
			v.pricing.Credit[call.Operation] = *config.Credit
		}
		if credit, set := config.Credits[call.Operation]; set {
			v.pricing.Credit[call.Operation] = credit
		}
	}
	scope := &engine.Scope{Settings: v.settings, Secrets: config.Credentials}
	for _, call := range definition.Calls() {
		if !call.Offered(scope) {
			continue
		}
		if offer := v.offer(call); len(offer.Supplies) > 0 {
			v.calls = append(v.calls, offer)
		}
	}
	return v
}

func (v *Vendor) offer(call *engine.Call) Call {
	offer := Call{Operation: call.Operation, Kind: call.Kind, Price: call.Price(v.pricing)}
	for _, attribute := range call.Supplies() {
		if len(v.config.Attributes) == 0 || slices.Contains(v.config.Attributes, attribute) {
			offer.Supplies = append(offer.Supplies, Supply{
				Attribute: attribute, Confidence: call.Confidence(attribute), Extra: call.Extra(attribute, v.pricing),
			})
		}
	}
	return offer
}

// Name is the source of the provider's facts.
func (v *Vendor) Name() string { return v.name }

// Config is the provider's configuration with what its definition adds.
func (v *Vendor) Config() ProviderConfig {
	c := v.config
	c.Name, c.Timeout, c.MaxAnswerBytes, c.Settings, c.Limits = v.name, v.timeout, v.maxAnswer, v.settings, v.limits
	return c
}

// Definition says how the vendor is talked to.
func (v *Vendor) Definition() *engine.Definition { return v.definition }

// Calls returns what the provider offers, in the order of its definition, not
// to be changed.
func (v *Vendor) Calls() []Call { return v.calls }

// Limits returns what the vendor allows the account, not to be changed.
func (v *Vendor) Limits() []enrich.Limit { return v.limits }

// Timeout is the longest one exchange takes.
func (v *Vendor) Timeout() time.Duration { return v.timeout }

// Choose returns the call that supplies most of what is wanted about a kind of
// subject, the first of equals, and false when no call supplies any of it.
func (v *Vendor) Choose(kind enrich.SubjectKind, wanted []enrich.Attribute) (Call, bool) {
	best, most := Call{}, 0
	for _, call := range v.calls {
		if call.Kind != kind {
			continue
		}
		supplied := 0
		for _, supply := range call.Supplies {
			if slices.Contains(wanted, supply.Attribute) {
				supplied++
			}
		}
		if supplied > most {
			best, most = call, supplied
		}
	}
	return best, most > 0
}

// close frees idle connections.
func (v *Vendor) close() { v.transport.CloseIdleConnections() }
