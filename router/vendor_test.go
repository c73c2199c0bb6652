package router

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// testVendor answers calls by a script: one line after the other, the last for
// ever.
type testVendor struct {
	name  string
	price func([]enrich.Attribute) enrich.Micros

	mu     sync.Mutex
	script []scripted
	calls  int
	free   chan struct{} // closed when stuck calls may end
}

// scripted is one answer.
type scripted struct {
	outcome string // an outcome, or hang, stuck, panic, exit, step
	times   int
	in      time.Duration // how long it takes
	wait    *time.Duration
	closed  time.Duration // how long it closes the provider
	knows   []enrich.Attribute
	masks   []enrich.Attribute
	charges *enrich.Micros
	expires time.Duration // of a job
	resets  time.Duration // of an exhausted limit
}

func (v *testVendor) next() scripted {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	if len(v.script) == 0 {
		return scripted{outcome: "hit", in: defaultLatency}
	}
	now := v.script[0]
	if v.script[0].times--; v.script[0].times <= 0 && len(v.script) > 1 {
		v.script = v.script[1:]
	}
	return now
}

func (v *testVendor) Lookup(ctx context.Context, query providers.Query) providers.Reply {
	line := v.next()
	switch line.outcome {
	case "panic":
		panic("the vendor said anna@example.com")
	case "exit":
		runtime.Goexit()
	case "stuck":
		<-v.free
	case "hang":
		<-ctx.Done()
	default:
		if !sleep(ctx, line.in) {
			return providers.Reply{Outcome: enrich.Timeout, Err: ctx.Err()}
		}
	}
	return line.reply(v, query)
}

func (line scripted) reply(v *testVendor, query providers.Query) providers.Reply {
	reply := providers.Reply{Outcome: enrich.Outcome(line.outcome), Wait: line.wait}
	state := func(a enrich.Attribute, s enrich.State) {
		fact := enrich.Fact{Attribute: a, State: s, Source: v.name, FetchedAt: time.Now().Truncate(time.Millisecond), Confidence: 0.9}
		if s == enrich.StateValue {
			fact.Value = enrich.TextValue("something")
		}
		reply.Facts = append(reply.Facts, fact)
	}
	reply.Charge = enrich.KnownCharge(0)
	switch reply.Outcome {
	case enrich.Hit, enrich.Partial:
		reply.Charge = enrich.KnownCharge(v.price(query.Wanted))
		for _, a := range query.Wanted {
			switch {
			case slices.Contains(line.masks, a):
			case reply.Outcome == enrich.Hit || slices.Contains(line.knows, a):
				state(a, enrich.StateValue)
			default:
				state(a, enrich.StateAbsent)
			}
		}
	case enrich.Miss:
		for _, a := range query.Wanted {
			state(a, enrich.StateAbsent)
		}
	case enrich.Suppressed:
		for _, a := range query.Wanted {
			state(a, enrich.StateSuppressed)
		}
	case enrich.Pending:
		reply.Charge = enrich.Charge{}
		reply.Next = &providers.Step{Operation: "poll", Poll: true}
		if line.expires > 0 {
			reply.Next.Deadline = time.Now().Add(line.expires)
		}
	case "step":
		reply.Outcome, reply.Next = enrich.Pending, &providers.Step{Operation: "second"}
	case "hang", "stuck", enrich.Timeout:
		reply.Outcome, reply.Charge = enrich.Timeout, enrich.Charge{}
	case enrich.Malformed, enrich.Expired:
		reply.Charge = enrich.Charge{}
	}
	if line.charges != nil {
		reply.Charge = enrich.KnownCharge(*line.charges)
	}
	if line.closed > 0 {
		reply.PauseUntil = time.Now().Add(line.closed)
	}
	if line.resets > 0 {
		reply.Limits = []enrich.LimitState{{Name: "day", Remaining: 0, ResetAt: time.Now().Add(line.resets)}}
	}
	return reply
}

const defaultLatency = 100 * time.Millisecond

// parseScript reads "rate_limited wait 3s, then hit in 500ms".
func parseScript(text string, kind enrich.SubjectKind) ([]scripted, error) {
	var script []scripted
	for _, part := range strings.Split(text, ", then ") {
		words := strings.Fields(part)
		line := scripted{outcome: words[0], times: 1, in: defaultLatency}
		for words = words[1:]; len(words) > 1; words = words[2:] {
			var err error
			switch key, value := words[0], words[1]; key {
			case "times":
				line.times, err = strconv.Atoi(value)
			case "in":
				line.in, err = time.ParseDuration(value)
			case "wait":
				var wait time.Duration
				wait, err = time.ParseDuration(value)
				line.wait = &wait
			case "closed":
				line.closed, err = time.ParseDuration(value)
			case "expires":
				line.expires, err = time.ParseDuration(value)
			case "resets":
				line.resets, err = time.ParseDuration(value)
			case "knows":
				line.knows, err = parseAttributes(value, kind)
			case "masks":
				line.masks, err = parseAttributes(value, kind)
			case "charges":
				var micros int
				micros, err = strconv.Atoi(value)
				charges := enrich.Micros(micros)
				line.charges = &charges
			default:
				err = fmt.Errorf("no answer has a %q", key)
			}
			if err != nil {
				return nil, err
			}
		}
		if len(words) > 0 {
			return nil, fmt.Errorf("%q stands alone", words[0])
		}
		script = append(script, line)
	}
	return script, nil
}

func parseAttributes(text string, kind enrich.SubjectKind) ([]enrich.Attribute, error) {
	var all []enrich.Attribute
	for name := range strings.SplitSeq(text, ",") {
		attribute := enrich.Attribute(kind.String() + "." + name)
		if _, ok := enrich.SpecOf(attribute); !ok {
			return nil, fmt.Errorf("there is no attribute %s", attribute)
		}
		all = append(all, attribute)
	}
	return all, nil
}
