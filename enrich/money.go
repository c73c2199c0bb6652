package enrich

import "sync"

// Micros is an amount of money in millionths of the currency of the price
// list.
type Micros int64

// Charge is what one vendor call cost. The zero Charge is unknown: after a
// timeout nobody can say whether the vendor charged.
type Charge struct {
	Micros Micros
	Known  bool
}

// KnownCharge is a charge of the given amount.
func KnownCharge(micros Micros) Charge { return Charge{Micros: micros, Known: true} }

// Purse is the money that one request may spend, over all its calls, side by
// side or one after another. A nil Purse has no bottom. Safe for concurrent
// use.
type Purse struct {
	mu   sync.Mutex
	left Micros
}

// NewPurse returns a purse of the given amount.
func NewPurse(amount Micros) *Purse { return &Purse{left: amount} }

// Holds tells whether the amount could be reserved now.
func (p *Purse) Holds(amount Micros) bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return amount <= p.left
}

// Reserve takes the amount before a call that may cost so much, and returns
// false, taking nothing, if it is not there.
func (p *Purse) Reserve(amount Micros) bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if amount > p.left {
		return false
	}
	p.left -= amount
	return true
}

// Settle replaces a reservation by what the call cost. An unknown charge keeps
// the reservation spent.
func (p *Purse) Settle(reserved Micros, charge Charge) {
	if p == nil || !charge.Known {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += reserved - charge.Micros
}

// add puts money in, or takes some out.
func (p *Purse) add(amount Micros) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += amount
}
