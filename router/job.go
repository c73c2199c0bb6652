package router

import (
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// job is a look-up from its first exchange to its last.
type job struct {
	wanted set
	// price is the most that the look-up may charge, reserved in the purse.
	price enrich.Micros
	step  *providers.Step // the next exchange; nil: the first
	// charged is what its exchanges are known to have charged; unknown tells
	// that nobody can say what it charged in all.
	charged enrich.Micros
	unknown bool
	// booked is what the quota takes as spent for it.
	booked enrich.Micros
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

// book takes in an exchange's charge and returns what of it is news to the
// quota, which reserves the price for the first exchange and keeps it when it
// does not learn the charge. A pending job is charged when it ends.
func (j *job) book(outcome enrich.Outcome, charge enrich.Charge) enrich.Charge {
	first := j.step == nil
	switch {
	case charge.Known:
		j.charged += charge.Micros
	case outcome != enrich.Pending:
		j.unknown = true
	}
	if first {
		if charge.Known {
			j.booked += charge.Micros
		} else {
			j.booked += j.price
		}
		return charge
	}
	total := j.charged
	if j.unknown {
		total = max(total, j.price)
	}
	news := max(total-j.booked, 0)
	j.booked += news
	return enrich.KnownCharge(news)
}

// charge is what the job charged in all.
func (j *job) charge() enrich.Charge {
	return enrich.Charge{Micros: j.charged, Known: !j.unknown}
}
