package router

import (
	"testing"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// The quota keeps the price of a first exchange whose charge it does not learn;
// whatever comes later must not be counted twice, and nothing may be lost.
func TestJobBooksEveryChargeOnce(t *testing.T) {
	type exchange struct {
		outcome enrich.Outcome
		charge  enrich.Charge
	}
	const price = enrich.Micros(100)
	known, unknown := enrich.KnownCharge, enrich.Charge{}
	for name, c := range map[string]struct {
		exchanges []exchange
		booked    enrich.Micros // by the quota
		charge    enrich.Charge // of the whole job
	}{
		"one call":                      {[]exchange{{enrich.Hit, known(80)}}, 80, known(80)},
		"one call, nobody knows":        {[]exchange{{enrich.Timeout, unknown}}, 100, unknown},
		"refused, then a hit":           {[]exchange{{enrich.RateLimited, known(0)}, {enrich.Hit, known(80)}}, 80, known(80)},
		"job charged at its end":        {[]exchange{{enrich.Pending, known(0)}, {enrich.Pending, known(0)}, {enrich.Hit, known(80)}}, 80, known(80)},
		"job whose submit may charge":   {[]exchange{{enrich.Pending, unknown}, {enrich.Pending, unknown}, {enrich.Hit, known(80)}}, 100, known(80)},
		"job dearer than its price":     {[]exchange{{enrich.Pending, unknown}, {enrich.Hit, known(130)}}, 130, known(130)},
		"two priced steps":              {[]exchange{{enrich.Pending, known(30)}, {enrich.Hit, known(70)}}, 100, known(100)},
		"job lost":                      {[]exchange{{enrich.Pending, known(0)}, {enrich.Expired, unknown}}, 100, unknown},
		"second step, nobody knows":     {[]exchange{{enrich.Pending, known(30)}, {enrich.Timeout, unknown}}, 100, unknown},
		"poll fails and is asked again": {[]exchange{{enrich.Pending, known(0)}, {enrich.Temporary, known(0)}, {enrich.Hit, known(80)}}, 80, known(80)},
	} {
		t.Run(name, func(t *testing.T) {
			j := job{price: price}
			var booked enrich.Micros
			for _, e := range c.exchanges {
				news := j.book(e.outcome, e.charge)
				booked += news.Micros
				if !news.Known {
					booked += price // the quota reserved it for the first exchange
				}
				if e.outcome == enrich.Pending {
					j.step = &providers.Step{Operation: "poll"}
				}
			}
			if booked != c.booked || j.charge().Known != c.charge.Known || c.charge.Known && j.charge() != c.charge {
				t.Errorf("booked %d, charged %+v; want %d, %+v", booked, j.charge(), c.booked, c.charge)
			}
		})
	}
}
