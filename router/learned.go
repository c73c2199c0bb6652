package router

import (
	"sync"
	"sync/atomic"

	"github.com/enrichd/enrichd/enrich"
)

// memory is after how many calls an experience has lost about two thirds of its
// weight; beliefs weigh as many calls as prior says before there is any.
const (
	memory      = 200
	prior       = 5
	priorHits   = 0.5
	priorCharge = 1
)

// mean is a decaying average: old experience fades and the sums stay bounded.
// The zero mean knows nothing.
type mean struct{ sum, weight float64 }

func (m *mean) see(value float64) {
	const fade = 1 - 1.0/memory
	m.sum, m.weight = m.sum*fade+value, m.weight*fade+1
}

// add joins another mean, each by its weight.
func (m *mean) add(other mean) { m.sum, m.weight = m.sum+other.sum, m.weight+other.weight }

// value is the average, 0 without experience.
func (m mean) value() float64 {
	if m.weight == 0 {
		return 0
	}
	return m.sum / m.weight
}

// believe is the average that also heeds a belief of before.
func (m mean) believe(belief float64) float64 {
	return (m.sum + prior*belief) / (m.weight + prior)
}

// learned is what answers have taught about one call: how often it brings each
// attribute, and how much of its price it charges. Safe for concurrent use.
type learned struct {
	forbidden atomic.Bool // the call, by the vendor, until the operator acts

	mu      sync.Mutex
	hits    [maxAttributes]mean
	charged mean
}

// answer learns from an authoritative answer.
func (l *learned) answer(wanted, found set, price enrich.Micros, charge enrich.Charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for bit := range wanted.all {
		hit := 0.0
		if found.has(bit) {
			hit = 1
		}
		l.hits[bit].see(hit)
	}
	if charge.Known && price > 0 {
		l.charged.see(float64(charge.Micros) / float64(price))
	}
}

// expect returns how many of the wanted attributes a call will bring and what it
// will charge, on average.
func (l *learned) expect(wanted set, price enrich.Micros) (facts, cost float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for bit := range wanted.all {
		facts += l.hits[bit].believe(priorHits)
	}
	return facts, float64(price) * l.charged.believe(priorCharge)
}

// overall is the share of all wanted attributes that were found.
func (l *learned) overall() mean {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all mean
	for _, hits := range l.hits {
		all.add(hits)
	}
	return all
}
