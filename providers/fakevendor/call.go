package fakevendor

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// call is one call to a vendor while it is answered.
type call struct {
	vendor    *vendor
	set       *settings
	request   *http.Request
	route     *route
	parameter string
	query     url.Values
	body      map[string]any // of a JSON request
	arrived   time.Time      // by the true clock
	now       time.Time      // by the vendor's clock
	delayed   time.Duration  // by a patient vendor, before it was judged
	caller    *caller        // nil until the key is known
	note      note
}

// input returns a text that the call carries, from the body or else the query.
func (c *call) input(name string) string {
	if text, ok := c.body[name].(string); ok {
		return strings.TrimSpace(text)
	}
	return strings.TrimSpace(c.query.Get(name))
}

// flag tells whether the call carries a true value.
func (c *call) flag(name string) bool {
	if on, ok := c.body[name].(bool); ok {
		return on
	}
	return c.query.Get(name) == "true"
}

// items returns the objects of a list in the body.
func (c *call) items(name string) []map[string]any {
	elements, _ := c.body[name].([]any)
	items := make([]map[string]any, 0, len(elements))
	for _, element := range elements {
		item, _ := element.(map[string]any)
		items = append(items, item)
	}
	return items
}

// textOf returns a text of an object.
func textOf(item map[string]any, name string) string {
	text, _ := item[name].(string)
	return strings.TrimSpace(text)
}

// readBody reads what a request carries beside its query: JSON, or a form,
// whose values count as the query's. It tells whether it could be read.
func (c *call) readBody() bool {
	sent := c.request.Method + " " + c.request.URL.RequestURI()
	c.note.request = subjectID(c.vendor.world.Seed, sent)
	if c.request.Body == nil || c.request.ContentLength == 0 {
		return true
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, c.request.Body, mostBody))
	c.note.request = subjectID(c.vendor.world.Seed, sent+"\n"+string(text))
	if err != nil || len(text) == 0 {
		return err == nil
	}
	if strings.HasPrefix(c.request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(text))
		maps.Copy(c.query, form)
		return err == nil
	}
	return json.Unmarshal(text, &c.body) == nil
}

// mostBody is the largest request that any vendor reads.
const mostBody = 4 << 20

// person looks up an address and books it as the call's subject.
func (c *call) person(address string) (truth.Person, truth.Found) {
	c.asked(address)
	return c.vendor.world.PersonAt(c.vendor.dialect.name, c.set.Data.Knowledge, address)
}

// company looks up a domain and books it as the call's subject.
func (c *call) company(domain string) (truth.Company, truth.Found) {
	domain = strings.TrimPrefix(truth.Fold(domain), "www.")
	c.asked(domain)
	return c.vendor.world.CompanyAt(c.vendor.dialect.name, c.set.Data.Knowledge, domain)
}

func (c *call) asked(subject string) {
	if c.note.subject == 0 {
		c.note.subject = subjectID(c.vendor.world.Seed, subject)
	}
}

// pay bills one operation for a subject and tells whether the credits reached.
func (c *call) pay(operation, subject string, price milli, repeatsFree bool) bool {
	id := subjectID(c.vendor.world.Seed, operation+" "+truth.Fold(subject))
	done := c.vendor.purse.pay(id, price, repeatsFree)
	if done.refused {
		return false
	}
	c.bill(operation, done.charged)
	c.note.Duplicate = c.note.Duplicate || done.duplicate
	c.note.untracked = c.note.untracked || done.untracked
	return true
}

// bill books a charge in the ledger; a negative one is given back.
func (c *call) bill(operation string, charged milli) {
	c.note.milli += charged
	c.note.ChargedMicros += int64(charged) * c.set.Account.Prices[operation] / int64(credit)
}

// refuse answers that there is nothing, and why.
func (c *call) refuse(r refusal) answer {
	a := c.vendor.dialect.refuse(c, r)
	a.outcome, a.limit = r.outcome, r.limit
	limited := r.outcome == enrich.RateLimited || r.outcome == enrich.Blocked
	if limited && !c.set.Limits.Hint.spoken() {
		if value, ok := c.set.Limits.Hint.retryAfter(c.now, c.lied(r.ready)); ok {
			a.header("Retry-After", value)
		}
	}
	return a
}

// invalid refuses an input.
func (c *call) invalid(reason string) answer {
	return c.refuse(refusal{outcome: enrich.InvalidInput, reason: reason})
}

// spent refuses for want of credits.
func (c *call) spent() answer { return c.refuse(refusal{outcome: enrich.QuotaExhausted}) }

// hint returns the moment that a dialect's own hint names, and false when it is
// to give none. Where the moment is not known it is a second from now.
func (c *call) hint(r refusal) (time.Time, bool) {
	return c.lied(r.ready), c.set.Limits.Hint.spoken()
}

func (c *call) lied(ready time.Time) time.Time {
	if ready.IsZero() {
		ready = c.now.Add(time.Second)
	}
	return ready.Add(c.set.Limits.Hint.WrongBy)
}

// states tells what the caller's limits have left, for headers; none where the
// vendor is silent or the caller unknown.
func (c *call) states() []strict.State {
	if c.set.Limits.Silent || c.caller == nil || c.route == nil {
		return nil
	}
	return c.caller.judge.States(c.route.operation, c.now)
}

// chance returns a number that is always the same for this subject and label
// at this vendor.
func (c *call) chance(label, subject string) uint64 {
	return subjectID(c.vendor.world.Seed, c.vendor.dialect.name+" "+label+" "+truth.Fold(subject))
}

// share is chance as a number from 0 up to, not including, 1.
func (c *call) share(label, subject string) float64 {
	return float64(c.chance(label, subject)>>11) / (1 << 53)
}

// subjectID names a subject without giving it away.
func subjectID(seed uint64, subject string) uint64 {
	return truth.World{Seed: seed}.ID(subject)
}

// creditsLeft is the balance as answers state it: whole credits, and a large
// number where they are without end.
func (c *call) creditsLeft() int64 {
	left, _ := c.vendor.purse.balance()
	if left < 0 {
		return 1_000_000
	}
	return int64(left / credit)
}
