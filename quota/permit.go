package quota

import (
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Permit is the right to make one call now. Exactly one of Settle and Return
// ends it; what comes after the first has no effect. A call that began a job
// which is charged later is ended in two parts: Free, and Settle with the charge.
// A permit that nobody ends counts as spent, and gives its place among the calls
// under way back after [Config.MaxCall].
type Permit struct {
	scheduler *scheduler
	spent     spent
	money     reservation
	waited    time.Duration
	freed     atomic.Bool // the call has ended
	over      atomic.Bool
}

// bearable is how late a call may leave without anything being corrected: the
// guard covers it.
const bearable = 25 * time.Millisecond

// Waited is how long the call waited for the permit.
func (p *Permit) Waited() time.Duration { return p.waited }

// Left tells when the call left for the vendor. One that left late, because the
// process or the connection was busy, counts from then on.
func (p *Permit) Left(at time.Time) {
	if at.Sub(p.spent.due()) > bearable {
		p.scheduler.left(p.spent, at)
	}
}

// Settle ends a call that was sent: what it charged, and what the vendor said
// about its limits, which can lower the account but never raise it. An unknown
// charge keeps the whole price as spent.
func (p *Permit) Settle(charge enrich.Charge, limits []enrich.LimitState) {
	if p.over.Swap(true) {
		return
	}
	if charge.Known {
		p.money.settle(charge.Micros)
	}
	p.Free(limits)
}

// Free ends a call that was sent but not its charge: its place among the calls
// under way is free, its price stays reserved until Settle.
func (p *Permit) Free(limits []enrich.LimitState) {
	if !p.freed.Swap(true) {
		p.scheduler.settle(p.spent, limits)
	}
}

// Return ends a permit whose call was never sent: everything goes back.
func (p *Permit) Return() {
	if p.over.Swap(true) {
		return
	}
	p.money.settle(0)
	if !p.freed.Swap(true) {
		p.scheduler.putBack(p.spent)
	}
}
