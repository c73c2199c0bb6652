package fakevendor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Faults is how a fake vendor misbehaves.
type Faults struct {
	// Latency of every admitted call. Refusals are answered at once.
	Latency Latency `yaml:"latency"`
	// Rules in order: the first that strikes a call decides about it.
	Rules []Fault `yaml:"rules"`
}

// FaultKind is what goes wrong.
type FaultKind string

// The kinds of faults. The first group happens instead of the vendor's work:
// nothing is counted against limits or billed. The second happens to calls that
// the vendor works on as ever, so that they count and are billed although
// their answer is of no use.
const (
	Outage   FaultKind = "outage"   // the connection is closed without an answer, or Status is answered
	Brownout FaultKind = "brownout" // a share of calls fails with Status, and all of them take Latency longer
	Storm    FaultKind = "storm"    // calls are refused as rate limited, whatever the limits say
	Sequence FaultKind = "sequence" // calls are answered with Statuses in turn; 200 is the true answer
	HTML     FaultKind = "html"     // a web page with Status
	Redirect FaultKind = "redirect" // to Location

	Hang        FaultKind = "hang"         // no answer for Hold, then the connection is closed
	EarlyClose  FaultKind = "early_close"  // the connection is closed in the middle of the body
	Drip        FaultKind = "drip"         // the body takes Hold
	Truncated   FaultKind = "truncated"    // a whole answer with half of the JSON
	Malformed   FaultKind = "malformed"    // JSON with a hole in it
	ContentType FaultKind = "content_type" // the right body under ContentType
	Huge        FaultKind = "huge"         // a JSON answer of Size bytes
	GzipBomb    FaultKind = "gzip_bomb"    // a small compressed answer that unpacks to Size bytes
	Drift       FaultKind = "drift"        // Fields are changed as Change says
)

var faultKinds = []FaultKind{
	Outage, Brownout, Storm, Sequence, HTML, Redirect, Hang, EarlyClose, Drip,
	Truncated, Malformed, ContentType, Huge, GzipBomb, Drift,
}

// Fault is one rule.
type Fault struct {
	// Kind is what goes wrong.
	Kind FaultKind `yaml:"kind"`
	// Share of calls that the rule strikes, from 0 to 1; 0: all.
	Share float64 `yaml:"share"`
	// From and Until are the time since the faults were set in which the rule
	// holds; Until 0: for good.
	From  time.Duration `yaml:"from"`
	Until time.Duration `yaml:"until"`
	// Every repeats the time from 0 to Every; 0: it runs once.
	Every time.Duration `yaml:"every"`
	// Operations that the rule may strike; empty: all.
	Operations []string `yaml:"operations"`
	// Status for brownout (0: 503), html (0: 200), redirect (0: 302) and
	// outage (0: the connection is closed).
	Status int `yaml:"status"`
	// RetryAfter is sent as Retry-After with a brownout or outage Status.
	RetryAfter string `yaml:"retry_after"`
	// Statuses of a sequence, in turn.
	Statuses []int `yaml:"statuses"`
	// Latency is what a brownout adds to every call in its time.
	Latency Latency `yaml:"latency"`
	// Hold is how long hang and drip take; 0: 5 minutes for hang, 30 s for drip.
	Hold time.Duration `yaml:"hold"`
	// Size of huge (0: 10 MB) and gzip_bomb (0: 100 MB) in bytes.
	Size int `yaml:"size"`
	// ContentType of a content_type fault; empty: text/plain.
	ContentType string `yaml:"content_type"`
	// Location of a redirect.
	Location string `yaml:"location"`
	// Fields that drift, as paths in the answer ("data.job_title",
	// "results.*.name"); Change is rename (the default), retype, remove or null.
	Fields []string `yaml:"fields"`
	Change string   `yaml:"change"`
}

const (
	mostRules = 1000
	mostSize  = 1 << 30
)

func (f Faults) validate(d *dialect) error {
	problems := []error{f.Latency.validate()}
	if len(f.Rules) > mostRules {
		problems = append(problems, fmt.Errorf("rules: more than %d", mostRules))
	}
	for i, rule := range f.Rules {
		for _, err := range rule.problems(d) {
			problems = append(problems, fmt.Errorf("rules[%d]: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

func (f Fault) problems(d *dialect) (found []error) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	check(slices.Contains(faultKinds, f.Kind), "kind: %q is none of %v", f.Kind, faultKinds)
	check(f.Share >= 0 && f.Share <= 1, "share: %v is not from 0 to 1", f.Share)
	check(f.From >= 0 && f.Until >= 0 && f.Every >= 0, "from, until, every: a negative time")
	check(f.Until == 0 || f.Until > f.From, "until: %s is not after from (%s)", f.Until, f.From)
	check(f.Every == 0 || f.Until <= f.Every && f.From < f.Every, "every: the time from %s until %s does not fit into %s", f.From, f.Until, f.Every)
	for _, operation := range f.Operations {
		check(slices.Contains(d.operations(), operation), "operations: %s has no %q but %v", d.name, operation, d.operations())
	}
	check(f.Status == 0 || f.Status >= 200 && f.Status <= 599, "status: %d is no status of an answer", f.Status)
	check((len(f.Statuses) > 0) == (f.Kind == Sequence) && len(f.Statuses) <= mostRules, "statuses: a sequence, and nothing else, has 1 to %d", mostRules)
	for _, status := range f.Statuses {
		check(status >= 200 && status <= 599, "statuses: %d is no status of an answer", status)
	}
	if err := f.Latency.validate(); err != nil {
		found = append(found, err)
	}
	check(f.Hold >= 0 && f.Hold <= time.Hour, "hold: %s is not from 0 to 1h", f.Hold)
	check(f.Size >= 0 && f.Size <= mostSize, "size: %d is not from 0 to %d", f.Size, mostSize)
	check((f.Location != "") == (f.Kind == Redirect), "location: a redirect, and nothing else, has one")
	check((len(f.Fields) > 0) == (f.Kind == Drift), "fields: drift, and nothing else, has some")
	check(slices.Contains([]string{"", "rename", "retype", "remove", "null"}, f.Change), "change: %q is none of rename, retype, remove, null", f.Change)
	return found
}

// holds tells whether the rule is in its time and may strike the operation.
func (f *Fault) holds(since time.Duration, operation string) bool {
	if f.Every > 0 {
		since %= f.Every
	}
	return since >= f.From && (f.Until == 0 || since < f.Until) &&
		(len(f.Operations) == 0 || slices.Contains(f.Operations, operation))
}

// strike is what the faults do to one call.
type strike struct {
	*Fault                // nil: nothing goes wrong
	latency time.Duration // of the call, if it is admitted
}

func (s strike) kind() FaultKind {
	if s.Fault == nil {
		return ""
	}
	return s.Kind
}

// strike decides about the n-th call since the faults were set.
func (f *Faults) strike(n uint64, seed uint64, since time.Duration, operation string) strike {
	chance := rand.New(rand.NewPCG(seed, n))
	s := strike{latency: f.Latency.draw(chance)}
	for i := range f.Rules {
		rule := &f.Rules[i]
		share := chance.Float64()
		if !rule.holds(since, operation) {
			continue
		}
		if rule.Kind == Brownout {
			s.latency += rule.Latency.draw(chance)
		}
		if s.Fault == nil && (rule.Share == 0 || share < rule.Share) {
			s.Fault = rule
		}
	}
	return s
}
