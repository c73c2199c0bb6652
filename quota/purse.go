package quota

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/enrich"
)

// purseRule is one cap for one period.
type purseRule struct {
	id       string
	account  string // "": all together; "*": each
	provider string // "": all together
	amount   enrich.Micros
	calendar calendar
}

// purseKey names a purse: the cap's id, and the account if each has its own.
type purseKey struct{ id, account string }

// purse is what was spent or reserved in the current period of a cap.
type purse struct {
	key        purseKey
	rule       purseRule
	start, end time.Time
	spent      enrich.Micros
	allowed    enrich.Micros // that this process may spend
	all        enrich.Micros // that all replicas may, as last known
	used       time.Time
	owes       bool          // the bank is to be told that less is allowed
	drawing    chan struct{} // holds a token while the bank is asked

	total    enrich.Micros // spent since the process began
	stored   enrich.Micros // of it when the state file was last written
	promised enrich.Micros // how far total may go before it is written again
	largest  enrich.Micros // price of one call
}

const (
	// maxPurses bounds the accounts that have a purse of their own; those that
	// come later share one, so that none goes unmetered.
	maxPurses   = 16_384
	everyone    = "*"
	sharedPurse = "*"
	// idlePurse is how long an allowance is kept without being used.
	idlePurse = 5 * time.Second
)

// purseRules are the caps of the configuration and of the providers' limits.
func purseRules(caps []Cap, limits map[string][]rule) (rules []purseRule) {
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
				rules = append(rules, purseRule{
					id: "cap/" + c.Account + "/" + c.Provider + "/" + period.name, account: c.Account, provider: c.Provider,
					amount: period.amount, calendar: calendar{period: period.name, zone: zone},
				})
			}
		}
	}
	for provider, list := range limits {
		for _, r := range list {
			if r.Unit == enrich.Money {
				rules = append(rules, purseRule{
					id: "limit/" + provider + "/" + r.Name, provider: provider,
					amount: enrich.Micros(r.Amount), calendar: r.calendar,
				})
			}
		}
	}
	slices.SortFunc(rules, func(a, b purseRule) int { return cmp.Compare(a.id, b.id) })
	return rules
}

func (c purseRule) concerns(ask Ask) bool {
	return (c.provider == "" || c.provider == ask.Provider) &&
		(c.account == "" || c.account == everyone || c.account == ask.Account)
}

// change changes the cap. Alone, all of it is allowed; else what was allowed in
// advance under the old one goes back.
func (p *purse) change(c purseRule, alone bool) {
	switch free := p.allowed - p.spent; {
	case alone:
		p.allowed = c.amount
	case free > 0 && c.amount != p.rule.amount:
		p.allowed, p.all, p.owes = p.spent, p.all-free, true
	}
	p.rule = c
}

// roll goes on to the period that holds now; a clock put back changes nothing
// that was spent.
func (p *purse) roll(now time.Time, alone bool) {
	if now.Before(p.end) && !now.Before(p.start) {
		return
	}
	if !now.Before(p.end) {
		p.spent, p.all = 0, 0
		if !alone {
			p.allowed = 0
		}
	}
	p.start, p.end = p.rule.calendar.around(now)
}

// left is what may still be spent, by all replicas, as far as is known.
func (p *purse) left() enrich.Micros { return p.rule.amount - max(p.all-p.allowed, 0) - p.spent }

func (p *purse) spend(now time.Time, price enrich.Micros) {
	p.spent += price
	p.total += price
	p.used = now
}

// withdrawal asks the bank for what a call of the price lacks; for a price of 0
// it only tells what is allowed.
func (p *purse) withdrawal(price enrich.Micros) withdrawal {
	w := withdrawal{start: p.start, cap: p.rule.amount, mine: p.allowed, known: p.all}
	if price > 0 {
		w.need = price - (p.allowed - p.spent)
		w.like = max(w.need, advance*price)
	}
	return w
}

// refusal says when the purse is full again; never if the price is more than it
// ever holds.
func (p *purse) refusal(ask Ask, price enrich.Micros) *Refusal {
	r := &Refusal{Provider: ask.Provider, Reason: enrich.ReasonMoneyCap, ReadyAt: p.end}
	if price > p.rule.amount {
		r.ReadyAt = time.Time{}
	}
	return r
}

// redisBank keeps allowances in Redis.
type redisBank struct {
	client  redis.UniversalClient
	prefix  string
	replica string
}

var _ bank = (*redisBank)(nil)

func (b *redisBank) draw(ctx context.Context, key purseKey, w withdrawal) (mine, all enrich.Micros, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	// Accounts and caps are named by a hash: names need not fit into a key.
	h := fnv.New64a()
	_, _ = h.Write([]byte(key.id + "\x00" + key.account))
	name := b.prefix + "quota:{m:" + strconv.FormatUint(h.Sum64(), 36) + "}"
	answer, err := purseScript.Run(ctx, b.client, []string{name},
		b.replica, w.start.UnixMicro(), int64(w.cap), int64(w.mine), int64(w.known), int64(w.need), int64(w.like)).Int64Slice()
	if err != nil {
		return 0, 0, err
	}
	if len(answer) != 2 {
		return 0, 0, errUnreadable
	}
	return enrich.Micros(answer[0]), enrich.Micros(answer[1]), nil
}
