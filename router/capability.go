package router

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// Provider is one configured vendor account: whom to ask, and what for.
type Provider struct {
	// Name is unique, the source of its facts, and a metric label.
	Name string
	// Lookup makes the calls.
	Lookup providers.Provider
	// Calls that the vendor offers. Of several that supply a wanted attribute
	// the one that supplies most of what is wanted is used.
	Calls []Call
	// Timeout is the longest one call may take; 0: Config.AttemptTimeout.
	Timeout time.Duration
	// Pause is how long to leave the provider alone after a refusal without a
	// hint; 0: Config.Pause.
	Pause time.Duration
}

// Call is one kind of look-up that a provider offers.
type Call struct {
	// Operation is how limits name it: "person", "company", "verify".
	Operation string
	// Kind of subject that it looks up.
	Kind enrich.SubjectKind
	// Price is the most that it charges without any attribute's Extra.
	Price enrich.Micros
	// Unpriced tells that nobody knows what it charges: within a cap on money it
	// is not made.
	Unpriced bool
	// Supplies tells what it can bring.
	Supplies map[enrich.Attribute]Supply
}

// Supply is how a call brings one attribute.
type Supply struct {
	// Confidence that the provider's definition gives its facts, from 0 to 1;
	// 0: unknown, taken as enough.
	Confidence float64
	// Extra is what asking for the attribute adds to the price of the call.
	Extra enrich.Micros
}

// call is an offered Call as the plan sees it: attributes are bits.
type call struct {
	*route
	operation string
	kind      enrich.SubjectKind
	price     enrich.Micros
	unpriced  bool
	supplies  set
	priced    set // supplies with an extra price
	extra     [maxAttributes]enrich.Micros
	promised  [maxAttributes]float64 // confidence; 0: unknown
	learned   *learned               // outlasts the call, see [Router.Apply]
}

func newCall(rt *route, offer Call) *call {
	c := &call{route: rt, operation: offer.Operation, kind: offer.Kind, price: offer.Price, unpriced: offer.Unpriced, learned: &learned{}}
	for attribute, supply := range offer.Supplies {
		bit, _ := bitOf(attribute)
		c.supplies = c.supplies.with(bit)
		c.extra[bit] = supply.Extra
		if supply.Extra > 0 {
			c.priced = c.priced.with(bit)
		}
		c.promised[bit] = supply.Confidence
	}
	return c
}

// is tells whether both are the same call, perhaps of different tables.
func (c *call) is(other *call) bool {
	return c.name == other.name && c.operation == other.operation && c.kind == other.kind
}

// trusted tells whether the call promises an attribute with enough confidence.
func (c *call) trusted(bit int, enough float64) bool {
	return c.promised[bit] == 0 || c.promised[bit] >= enough
}

// priceOf is the most that the call may charge when asked for these attributes.
func (c *call) priceOf(wanted set) enrich.Micros {
	price := c.price
	for bit := range (wanted & c.priced).all {
		price += c.extra[bit]
	}
	return price
}

// affordable is the greatest part of wanted that costs no more than the purse
// holds: without the dearest extras, and nothing when the call itself is too
// dear.
func (c *call) affordable(wanted set, purse *enrich.Purse) set {
	switch {
	case purse == nil:
		return wanted
	case c.unpriced:
		return 0
	case purse.Holds(c.priceOf(wanted)):
		return wanted
	}
	extras := slices.Collect((wanted & c.priced).all)
	slices.SortFunc(extras, func(a, b int) int { return cmp.Compare(c.extra[b], c.extra[a]) })
	for _, bit := range extras {
		wanted = wanted.without(bit)
		if wanted != 0 && purse.Holds(c.priceOf(wanted)) {
			return wanted
		}
	}
	return 0
}

// expectedCost is what one of the wanted facts will cost, on average. A call of
// which nobody knows the price comes after all others.
func (c *call) expectedCost(wanted set) float64 {
	if c.unpriced {
		return math.Inf(1)
	}
	facts, cost := c.learned.expect(wanted, c.priceOf(wanted))
	return cost / facts
}

// maxAttributes is how many attributes a subject of one kind may have.
const maxAttributes = 64

// set is a set of attributes of one kind of subject, by their place among them.
type set uint64

func (s set) has(bit int) bool    { return s&(1<<bit) != 0 }
func (s set) with(bit int) set    { return s | 1<<bit }
func (s set) without(bit int) set { return s &^ (1 << bit) }
func (s set) size() int           { return bits.OnesCount64(uint64(s)) }

// all yields the bits in order.
func (s set) all(yield func(bit int) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(bits.TrailingZeros64(uint64(s))) {
			return
		}
	}
}

// The contract's attributes, by kind and bit, and the bit of each. They are
// sorted, as a record is, so that answers to questions in this order are records
// already.
var (
	attributes = [...][]enrich.Attribute{
		enrich.Person:  slices.Sorted(slices.Values(enrich.AttributesOf(enrich.Person))),
		enrich.Company: slices.Sorted(slices.Values(enrich.AttributesOf(enrich.Company))),
	}
	attributeBits = func() []int { // by the attribute's place in the contract
		bits := make([]int, len(enrich.Attributes()))
		for _, of := range attributes {
			if len(of) > maxAttributes {
				panic(fmt.Sprintf("router: a set holds %d attributes, the contract has %d of one kind", maxAttributes, len(of)))
			}
			for bit, attribute := range of {
				bits[enrich.PlaceOf(attribute)] = bit
			}
		}
		return bits
	}()
)

func bitOf(a enrich.Attribute) (bit int, ok bool) {
	place := enrich.PlaceOf(a)
	if place < 0 {
		return 0, false
	}
	return attributeBits[place], true
}

func (p Provider) validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(p.Name == "", "it has no name")
	report(p.Lookup == nil, "nothing makes its calls")
	report(len(p.Calls) == 0, "it offers no call")
	report(p.Timeout < 0 || p.Pause < 0, "a duration is negative")
	for _, offer := range p.Calls {
		report(offer.Price < 0, "%s: the price is negative", offer.Operation)
		report(len(offer.Supplies) == 0, "%s: it supplies nothing", offer.Operation)
		for attribute, supply := range offer.Supplies {
			_, known := bitOf(attribute)
			report(!known, "%s: the contract has no attribute %q", offer.Operation, attribute)
			report(known && attribute.Kind() != offer.Kind, "%s: %s is not about a %s", offer.Operation, attribute, offer.Kind)
			report(supply.Confidence < 0 || supply.Confidence > 1, "%s: %s: confidence %v is not between 0 and 1", offer.Operation, attribute, supply.Confidence)
			report(supply.Extra < 0, "%s: %s: the extra price is negative", offer.Operation, attribute)
		}
	}
	return problems
}
