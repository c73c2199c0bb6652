package router

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
)

// job is a look-up from its first exchange to its last.
type job struct {
	wanted set
	// price is the most that the look-up may charge, reserved in the purse.
	price enrich.Micros
	step  *providers.Step // the next exchange; nil: the first
	due   time.Time       // when it may be made; zero: the first, at once
	// charged is what its exchanges are known to have charged; unknown tells
	// that nobody can say what it charged in all.
	charged enrich.Micros
	unknown bool
	// permit of the first exchange, which has the price reserved while the job is
	// pending; nil before.
	permit *quota.Permit
}

// asked is what a job under way was asked for; 0 when none is under way.
func (j *job) asked() set {
	if j.step == nil {
		return 0
	}
	return j.wanted
}

// operation names the job's next exchange with the call.
func (j *job) operation(c *call) string {
	if j.step == nil {
		return c.operation
	}
	return j.step.Operation
}

// book takes in what an exchange charged. A pending job is charged when it ends.
func (j *job) book(outcome enrich.Outcome, charge enrich.Charge) {
	switch {
	case charge.Known:
		j.charged += charge.Micros
	case outcome != enrich.Pending:
		j.unknown = true
	}
}

// settle tells the quota what a job of several exchanges charged in all: what its
// price was reserved for. If nobody knows, at least the price is spent.
func (j *job) settle() {
	if j.permit == nil {
		return
	}
	charge := j.charge()
	if j.charged > j.price {
		charge = enrich.KnownCharge(j.charged)
	}
	j.permit.Settle(charge, nil)
}

// charge is what the job charged in all.
func (j *job) charge() enrich.Charge {
	return enrich.Charge{Micros: j.charged, Known: !j.unknown}
}
