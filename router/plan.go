package router

import (
	"cmp"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// standing is what the plan must know about one call at one moment.
type standing struct {
	call *call
	// open attributes may be asked of it: the account may, the provider has not
	// said yet.
	open set
	// barred is why it cannot be asked at all; empty: it can.
	barred string
	// readyAt is when it can be asked; zero: at once, or nobody knows when if it
	// is barred or waits.
	readyAt time.Time
	// waiting is why it cannot be asked at once.
	waiting string
	pause   enrich.PauseReason
	// silent tells that it does not answer just now: others are asked first.
	silent bool
	// patience is how long it may be waited for while another could be asked at once.
	patience time.Duration
	// parked is what a job under way was asked for; it is paid already.
	parked set
	// inFlight tells that a call to the provider is awaited, until readyAt at
	// the latest.
	inFlight bool
}

// delay has it asked no sooner than then, and tells whether that is later. Where
// nobody knows when a wait ends, nothing else tells it.
func (s *standing) delay(until time.Time) (later bool) {
	if !until.After(s.readyAt) || s.waiting != "" && s.readyAt.IsZero() {
		return false
	}
	s.readyAt = until
	return true
}

// circumstances are what a plan is made in.
type circumstances struct {
	now time.Time
	// latest is when the last call may begin.
	latest   time.Time
	missing  set
	cheapest bool
	purse    *enrich.Purse
}

// leg is one call of a plan.
type leg struct {
	index   int // of the standing
	call    *call
	wanted  set
	readyAt time.Time
	later   bool // its wait is longer than patience, or it is silent
	// inFlight tells that a call is awaited instead of made.
	inFlight bool
	cost     float64
	// others tells that further calls may follow, the soonest of them at othersAt;
	// zero: at once.
	others   bool
	othersAt time.Time
}

// precede notes a leg that follows, unless it is to be awaited anyway.
func (l *leg) precede(other leg) {
	if other.inFlight {
		return
	}
	if !l.others || other.readyAt.Before(l.othersAt) {
		l.othersAt = other.readyAt
	}
	l.others = true
}

// drop is why a call is not in the plan.
type drop struct {
	index   int
	call    *call
	missing set // what it could have supplied
	reason  string
	readyAt time.Time // when asking again can help; zero when nobody knows
	pause   enrich.PauseReason
}

// plan is the ordered calls for what is missing, each for everything it can
// supply, and what was dropped before choosing. Later legs count on nothing
// being found by earlier ones.
type plan struct {
	legs  []leg
	drops []drop
}

// decide makes a plan. Calls that cannot help in time are dropped first; of the
// rest those that can be asked at once come before those that must be waited
// for, in the listed order or cheapest first. It reuses the memory of p.
func (p plan) decide(c circumstances, standings []standing) plan {
	p.legs, p.drops = p.legs[:0], p.drops[:0]
	for first := 0; first < len(standings); {
		end := first + 1
		for end < len(standings) && standings[end].call.route == standings[first].call.route {
			end++
		}
		p.decideProvider(c, standings, first, end)
		first = end
	}
	if len(p.legs) > 1 {
		slices.SortStableFunc(p.legs, func(a, b leg) int {
			switch {
			case a.later != b.later:
				return cmp.Compare(b2i(a.later), b2i(b.later))
			case a.later:
				return a.readyAt.Compare(b.readyAt)
			default:
				return cmp.Compare(a.cost, b.cost)
			}
		})
		for _, other := range p.legs[1:] {
			p.legs[0].precede(other)
		}
	}
	return p
}

// decideProvider plans the calls of one provider, standings first to end: the
// call that supplies most of what is missing, then the next for the rest.
func (p *plan) decideProvider(c circumstances, standings []standing, first, end int) {
	missing := c.missing
	var used set // of standings, counted from first
	for missing != 0 {
		best, most := -1, set(0)
		for i := first; i < end; i++ {
			if used.has(i - first) {
				continue
			}
			can := standings[i].can() & missing
			if can.size() > most.size() || can != 0 && can.size() == most.size() && standings[i].call.price < standings[best].call.price {
				best, most = i, can
			}
		}
		if best < 0 {
			return
		}
		used = used.with(best - first)
		missing &^= p.judge(c, best, standings[best], most)
	}
}

func (s standing) can() set {
	if s.parked != 0 {
		return s.parked
	}
	return s.open
}

// judge adds a leg for what the call can be asked for in time and money, and
// drops for what it cannot; it returns what the leg wants.
func (p *plan) judge(c circumstances, index int, s standing, can set) set {
	dropped := drop{index: index, call: s.call, missing: can, readyAt: s.readyAt, pause: s.pause}
	readyAt := s.readyAt
	switch {
	case s.barred != "":
		dropped.reason = s.barred
	case c.now.After(c.latest):
		dropped.reason, dropped.readyAt = enrich.ReasonOutOfTime, time.Time{}
	case s.waiting != "" && (readyAt.IsZero() || readyAt.After(c.latest)):
		dropped.reason = s.waiting
	}
	if dropped.reason != "" {
		p.drops = append(p.drops, dropped)
		return 0
	}
	wanted := can
	paid := s.parked != 0 || s.inFlight
	if !paid {
		if wanted = s.call.affordable(can, c.purse); wanted != can {
			dropped.missing, dropped.reason = can&^wanted, enrich.ReasonMoneyCap
			p.drops = append(p.drops, dropped)
		}
	}
	if wanted == 0 {
		return 0
	}
	l := leg{index: index, call: s.call, wanted: wanted, readyAt: readyAt, later: s.silent || readyAt.After(c.now.Add(s.patience)), inFlight: s.inFlight}
	if c.cheapest && !paid {
		l.cost = s.call.expectedCost(wanted)
	}
	p.legs = append(p.legs, l)
	return wanted
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
