package app

import (
	"maps"
	"sync"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/router"
)

// counts counts calls for operators, and passes on to the metrics what it is
// told. Safe for concurrent use.
type counts struct {
	router.Observer

	mu sync.Mutex
	of map[string]*count
}

// count is of one provider since the process began.
type count struct {
	calls    int64
	outcomes map[enrich.Outcome]int64
	spent    enrich.Micros
}

func newCounts(metrics router.Observer) *counts {
	return &counts{Observer: metrics, of: map[string]*count{}}
}

// Called counts one exchange with a vendor.
func (c *counts) Called(exchange router.Exchange) {
	c.Observer.Called(exchange)
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of[exchange.Provider]
	if one == nil {
		one = &count{outcomes: map[enrich.Outcome]int64{}}
		c.of[exchange.Provider] = one
	}
	one.calls++
	one.outcomes[exchange.Outcome]++
	one.spent += exchange.Charged.Micros
}

// about returns what is counted of a provider.
func (c *counts) about(provider string) count {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of[provider]
	if one == nil {
		return count{}
	}
	return count{calls: one.calls, outcomes: maps.Clone(one.outcomes), spent: one.spent}
}

// hitRate is the share of calls that found something, of those that found
// something or authoritatively nothing.
func (c count) hitRate() float64 {
	var known int64
	for outcome, times := range c.outcomes {
		if outcome.Authoritative() {
			known += times
		}
	}
	if known == 0 {
		return 0
	}
	return float64(c.outcomes[enrich.Hit]+c.outcomes[enrich.Partial]) / float64(known)
}
