package quota

import (
	"context"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// money keeps what is spent within the caps: it reserves the most that a call
// may charge before the call waits, and settles when the charge is known. Safe
// for concurrent use.
type money struct {
	bank     bank     // nil: this process spends alone
	journal  *journal // nil: there is no state file
	replicas int      // among whom caps are divided then

	mu     sync.Mutex
	caps   []purseRule
	purses map[purseKey]*purse
	swept  time.Time
	// doubt is when nobody knew what had been spent: of a period that began
	// before, everything.
	doubt time.Time
}

// bank shares caps among replicas.
type bank interface {
	// draw asks for need more of the purse, better like more, and returns the
	// replica's allowance and those of all.
	draw(ctx context.Context, key purseKey, w withdrawal) (mine, all enrich.Micros, err error)
}

// withdrawal is what a replica knows of a purse and wants of it.
type withdrawal struct {
	start            time.Time
	cap, mine, known enrich.Micros
	need, like       enrich.Micros
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

func newMoney(bank bank, replicas int) *money {
	return &money{bank: bank, replicas: replicas, purses: map[purseKey]*purse{}}
}

// apply changes the caps; what was spent stays spent.
func (m *money) apply(caps []Cap, limits map[string][]rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.caps = purseRules(caps, limits)
	for i := range m.caps {
		if m.bank == nil {
			m.caps[i].amount /= enrich.Micros(m.replicas)
		}
	}
	for _, c := range m.caps {
		for key, p := range m.purses {
			if key.id == c.id {
				p.change(c, m.bank == nil)
			}
		}
	}
}

// advance is how many calls of a price a replica likes to be allowed at once.
const advance = 16

// reserve takes the price out of every purse that the call concerns, or out of
// none; then it says when the one that lacks is full again.
func (m *money) reserve(ctx context.Context, ask Ask) (reservation, *Refusal) {
	price := max(ask.Price, 0)
	for {
		now := time.Now()
		m.mu.Lock()
		parts, lacking := m.find(now, ask, price, true)
		if lacking == nil && !m.promised(parts, price) {
			m.mu.Unlock()
			if err := m.journal.wait(ctx); err != nil {
				return reservation{}, &Refusal{Provider: ask.Provider, Reason: enrich.ReasonOutOfTime, Cause: err}
			}
			continue
		}
		if lacking == nil {
			for _, p := range parts {
				p.purse.spend(now, price)
			}
			m.mu.Unlock()
			if len(parts) == 0 {
				return reservation{}, nil
			}
			return reservation{money: m, price: price, parts: parts}, nil
		}
		refusal := lacking.refusal(ask, price)
		m.mu.Unlock()
		if m.bank == nil || price > lacking.rule.amount || !m.draw(ctx, lacking, price) {
			return reservation{}, refusal
		}
	}
}

// draw enlarges the allowance of a purse so that it has the price, and tells
// whether it has; for a price of 0 it gives back what is free. One draw of a purse is under way at a time: what a replica
// says of its allowance must be so when it is heard.
func (m *money) draw(ctx context.Context, p *purse, price enrich.Micros) bool {
	select {
	case p.drawing <- struct{}{}:
		defer func() { <-p.drawing }()
	case <-ctx.Done():
		return false
	}
	m.mu.Lock()
	if price == 0 {
		free := max(0, p.allowed-p.spent)
		p.allowed, p.all = p.allowed-free, p.all-free
	}
	w := p.withdrawal(price)
	m.mu.Unlock()
	if price > 0 && w.need <= 0 {
		return true
	}
	mine, all, err := m.bank.draw(ctx, p.key, w)
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.start.Equal(w.start) && p.rule.amount == w.cap {
		p.allowed, p.all, p.owes = mine, all, false
	}
	return mine-w.mine >= w.need
}

// forecast says what reserve would refuse, as far as is known.
func (m *money) forecast(now time.Time, ask Ask) *Refusal {
	price := max(ask.Price, 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, lacking := m.find(now, ask, price, false); lacking != nil {
		return lacking.refusal(ask, price)
	}
	return nil
}

// find returns the purses that the call concerns, or the first of them that
// lacks the price. When nothing is added, what the bank may still give counts.
func (m *money) find(now time.Time, ask Ask, price enrich.Micros, add bool) (parts []part, lacking *purse) {
	for _, c := range m.caps {
		if !c.concerns(ask) {
			continue
		}
		p := m.purse(now, c, ask.Account, add)
		if p == nil {
			continue
		}
		free := p.allowed - p.spent
		if !add && m.bank != nil {
			free += p.rule.amount - p.all
		}
		if price > 0 && price > free {
			return nil, p
		}
		parts = append(parts, part{p, p.start})
	}
	return parts, nil
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
		if now.Sub(m.swept) >= time.Minute {
			m.sweep(now)
		}
		if len(m.purses) >= maxPurses {
			key.account = sharedPurse
			p = m.purses[key]
		}
	}
	if p == nil {
		if !add {
			return nil
		}
		p = &purse{key: key, drawing: make(chan struct{}, 1)}
		p.change(c, m.bank == nil)
		m.purses[key] = p
		if p.roll(now, m.bank == nil); p.start.Before(m.doubt) {
			p.spent = p.rule.amount
		}
	}
	p.roll(now, m.bank == nil)
	return p
}

// sweep forgets purses of which nothing was spent in their period.
func (m *money) sweep(now time.Time) {
	m.swept = now
	for key, p := range m.purses {
		if p.roll(now, m.bank == nil); p.spent == 0 && p.allowed == 0 || m.bank == nil && p.spent == 0 {
			delete(m.purses, key)
		}
	}
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

// giveBack returns what is allowed but not spent of purses that were not used
// for a while or whose cap changed, or of all.
func (m *money) giveBack(ctx context.Context, all bool) {
	if m.bank == nil {
		return
	}
	now := time.Now()
	var idle []*purse
	m.mu.Lock()
	for _, p := range m.purses {
		if p.roll(now, false); p.owes || p.allowed > p.spent && (all || now.Sub(p.used) >= idlePurse) {
			idle = append(idle, p)
		}
	}
	m.mu.Unlock()
	for _, p := range idle {
		m.draw(ctx, p, 0) // if that is lost, the next draw tells it
	}
}
