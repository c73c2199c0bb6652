package quota

import (
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// money keeps what is spent within the caps: it reserves the most that a call
// may charge before the call waits, and settles when the charge is known. Safe
// for concurrent use.
type money struct {
	mu     sync.Mutex
	caps   []purseRule
	purses map[purseKey]*purse
}

// purseRule is one cap for one period.
type purseRule struct {
	id       string
	account  string // "": all together; "*": each
	provider string // "": all together
	amount   enrich.Micros
	calendar calendar
}

type purseKey struct{ id, account string }

// purse is what was spent or reserved in the current period of a cap.
type purse struct {
	rule       purseRule
	start, end time.Time
	spent      enrich.Micros
}

// reservation is the part of some purses that one call may charge.
type reservation struct {
	money *money
	price enrich.Micros
	parts []part
}

// part is a purse and the period in which it was reserved from.
type part struct {
	purse *purse
	start time.Time
}

const (
	// maxPurses bounds the accounts that have a purse of their own; those that
	// come later share one, so that none goes unmetered.
	maxPurses   = 16_384
	everyone    = "*"
	sharedPurse = "*"
)

func newMoney(caps []Cap, limits map[string][]rule) *money {
	m := &money{purses: map[purseKey]*purse{}}
	m.apply(caps, limits)
	return m
}

// apply changes the caps; what was spent stays spent.
func (m *money) apply(caps []Cap, limits map[string][]rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.caps = nil
	for _, c := range caps {
		zone, err := time.LoadLocation(c.Zone)
		if err != nil {
			zone = time.UTC
		}
		for _, period := range []struct {
			name   string
			amount enrich.Micros
		}{{calendarDay, c.Day}, {calendarMonth, c.Month}} {
			if period.amount > 0 {
				m.caps = append(m.caps, purseRule{
					id: "cap/" + c.Account + "/" + c.Provider + "/" + period.name, account: c.Account, provider: c.Provider,
					amount: period.amount, calendar: calendar{period: period.name, zone: zone},
				})
			}
		}
	}
	for provider, rules := range limits {
		for _, r := range rules {
			if r.Unit == enrich.Money {
				m.caps = append(m.caps, purseRule{
					id: "limit/" + provider + "/" + r.Name, provider: provider,
					amount: enrich.Micros(r.Amount), calendar: r.calendar,
				})
			}
		}
	}
	for _, c := range m.caps {
		for key, p := range m.purses {
			if key.id == c.id {
				p.rule = c
			}
		}
	}
}

// reserve takes the price out of every purse that the call concerns, or out of
// none; then it says when the one that lacks is full again.
func (m *money) reserve(now time.Time, ask Ask) (reservation, *Refusal) {
	price := max(ask.Price, 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	parts, refusal := m.find(now, ask, price, true)
	if refusal != nil || len(parts) == 0 {
		return reservation{}, refusal
	}
	for _, p := range parts {
		p.purse.spent += price
	}
	return reservation{money: m, price: price, parts: parts}, nil
}

// forecast says what reserve would refuse.
func (m *money) forecast(now time.Time, ask Ask) *Refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, refusal := m.find(now, ask, max(ask.Price, 0), false)
	return refusal
}

// find returns the purses that the call concerns, all of which have the price.
func (m *money) find(now time.Time, ask Ask, price enrich.Micros, add bool) (parts []part, refusal *Refusal) {
	for _, c := range m.caps {
		if !c.concerns(ask) {
			continue
		}
		p := m.purse(now, c, ask.Account, add)
		if p == nil {
			continue
		}
		if price > 0 && price > p.rule.amount-p.spent {
			refusal = &Refusal{Provider: ask.Provider, Reason: enrich.ReasonMoneyCap, ReadyAt: p.end}
			if price > p.rule.amount {
				refusal.ReadyAt = time.Time{}
			}
			return nil, refusal
		}
		parts = append(parts, part{p, p.start})
	}
	return parts, nil
}

func (c purseRule) concerns(ask Ask) bool {
	return (c.provider == "" || c.provider == ask.Provider) &&
		(c.account == "" || c.account == everyone || c.account == ask.Account)
}

// purse returns the purse of a cap; nil if there is none and none is to be
// added.
func (m *money) purse(now time.Time, c purseRule, account string, add bool) *purse {
	key := purseKey{id: c.id}
	if c.account == everyone {
		key.account = account
	}
	p := m.purses[key]
	if p == nil && key.account != "" && len(m.purses) >= maxPurses {
		m.sweep(now)
		if len(m.purses) >= maxPurses {
			key.account = sharedPurse
			p = m.purses[key]
		}
	}
	if p == nil {
		if !add {
			return nil
		}
		p = &purse{rule: c}
		m.purses[key] = p
	}
	p.roll(now)
	return p
}

// sweep forgets purses of which nothing was spent in their period.
func (m *money) sweep(now time.Time) {
	for key, p := range m.purses {
		if p.roll(now); p.spent == 0 {
			delete(m.purses, key)
		}
	}
}

// roll goes on to the period that holds now; a clock put back changes nothing
// that was spent.
func (p *purse) roll(now time.Time) {
	if now.Before(p.end) && !now.Before(p.start) {
		return
	}
	if !now.Before(p.end) {
		p.spent = 0
	}
	p.start, p.end = p.rule.calendar.around(now)
}

// settle replaces what was reserved by what was charged. What was reserved in a
// period that is over is no longer of interest.
func (r reservation) settle(charged enrich.Micros) {
	if r.money == nil {
		return
	}
	r.money.mu.Lock()
	defer r.money.mu.Unlock()
	for _, part := range r.parts {
		if part.purse.start.Equal(part.start) {
			part.purse.spent = max(0, part.purse.spent+max(charged, 0)-r.price)
		}
	}
}
