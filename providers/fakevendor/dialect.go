package fakevendor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// dialect is how one real vendor speaks. Where its facts leave something open,
// the dialect's file says what was taken.
type dialect struct {
	name string
	// prefix of all paths that a base URL may hold already ("/v5").
	prefix string
	routes []route
	// key returns the API key that a call carries, or "".
	key func(*call) string
	// refuse puts a refusal into the vendor's words.
	refuse func(*call, refusal) answer
	// decorate adds the vendor's headers to an answer, limits among them.
	decorate func(*call, *answer)
	// limits and bans are the published ones of a paid plan.
	limits []strict.Limit
	bans   []strict.Ban
	// patience is how long the vendor delays a call, instead of refusing it,
	// until its limits admit it.
	patience time.Duration
	// prices of one credit in micros, by operation; an operation without one
	// bills nothing.
	prices map[string]int64
	// data is what a vendor of this dialect typically knows.
	data Data
	// pendingFor is how long a job usually takes.
	pendingFor time.Duration
}

// dialects is every dialect by its name.
var dialects = byName(
	peopleDataLabs,
	hunter,
	apollo,
	clearbit,
	fullContact,
	dropcontact,
	rocketReach,
	lusha,
	leadMagic,
	prospeo,
	zeroBounce,
	neverBounce,
	fullEnrich,
)

func byName(all ...*dialect) map[string]*dialect {
	named := make(map[string]*dialect, len(all))
	for _, d := range all {
		named[d.name] = d
	}
	return named
}

// Dialects lists the names of the dialects in order.
func Dialects() []string { return slices.Sorted(maps.Keys(dialects)) }

// route is one call that a dialect offers.
type route struct {
	method, path string
	// operation as limits, prices and the ledger name it.
	operation string
	// parameter is true when the path goes on with one more part.
	parameter bool
	// billed calls are refused once the credits are spent.
	billed bool
	// entities counts the subjects asked for; nil: one.
	entities func(*call) int
	answer   func(*call) answer
}

// operations lists the names of the dialect's calls.
func (d *dialect) operations() []string {
	var names []string
	for _, r := range d.routes {
		if !slices.Contains(names, r.operation) {
			names = append(names, r.operation)
		}
	}
	return names
}

// find returns the route of a path and the path's parameter. Of a path that is
// offered with another method it returns nil and true.
func (d *dialect) find(method, path string) (found *route, parameter string, otherMethod bool) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, d.prefix), "/")
	for i := range d.routes {
		r := &d.routes[i]
		rest, ok := strings.CutPrefix(path, r.path)
		if !ok || r.parameter != (rest != "") || rest != "" && (rest[0] != '/' || strings.Contains(rest[1:], "/")) {
			continue
		}
		if r.method == method {
			return r, strings.TrimPrefix(rest, "/"), false
		}
		otherMethod = true
	}
	return nil, "", otherMethod
}

// refusal is an answer that brings nothing, before the vendor's words for it.
type refusal struct {
	outcome enrich.Outcome
	// reason of an invalid_input or auth_failed ("missing" key).
	reason string
	// limit that is full, and when it no longer is; zero: not known.
	limit string
	ready time.Time
	// status asked for by a fault; 0: the vendor's usual one.
	status int
}

// answer is what a vendor sends.
type answer struct {
	outcome enrich.Outcome
	status  int
	// body is a JSON value, or a text where contentType says so.
	body any
	// contentType; empty: JSON.
	contentType string
	headers     [][2]string
	limit       string
}

// header adds a header.
func (a *answer) header(name, value string) { a.headers = append(a.headers, [2]string{name, value}) }

// found is the outcome of an answer that brings a record.
func found(thin bool) enrich.Outcome {
	if thin {
		return enrich.Partial
	}
	return enrich.Hit
}
