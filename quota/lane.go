package quota

import (
	"hash/fnv"
	"strconv"

	"github.com/enrichd/enrichd/enrich"
)

// lanes is how many lanes there are; the first is the most urgent.
const lanes = 3

// laneNames are the lanes in their order.
var laneNames = [lanes]enrich.Lane(enrich.Lanes)

// runs is how many waiters of a lane are served in a row while others wait in a
// slower lane: an urgent lane goes first, and never shuts the others out.
var runs = [lanes]int{15, 3, 0}

// laneOf returns a lane's place in the order; an unknown lane is as urgent as
// Interactive, which is the default.
func laneOf(lane enrich.Lane) int {
	switch lane {
	case enrich.Standard:
		return 1
	case enrich.Bulk:
		return 2
	default:
		return 0
	}
}

// lane shares a provider's calls among accounts by weight. Its clock is virtual:
// it shows the turn of the account served last. An account that is served moves
// its own turn on by 1/weight, so that busy accounts advance together, and one
// that comes back from idling starts at the clock, with neither debt nor credit.
type lane struct {
	place    int // among the lanes; 0 is the most urgent
	clock    float64
	accounts map[string]*account
	waiting  int
	weights  float64 // of the accounts that wait
	run      int     // served in a row while slower lanes waited
}

// account is one account's turn in a lane.
type account struct {
	name    string
	weight  float64
	spread  float64 // at how many replicas it waits
	turn    float64
	flows   int
	waiting int
}

// hash names the account to other replicas.
func (a *account) hash() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(a.name))
	return strconv.FormatUint(h.Sum64(), 36)
}

// maxIdle is how many accounts are remembered that do not wait.
const maxIdle = 1024

// maxWeight bounds how much more than others one account can get.
const maxWeight = 1000

// account returns the account's turn. An account that no longer waits is
// remembered until the clock has passed its turn.
func (l *lane) account(name string, weight int) *account {
	a := l.accounts[name]
	if a == nil {
		a = &account{name: name, turn: l.clock, spread: 1}
		l.accounts[name] = a
	}
	if a.flows == 0 {
		a.weight = float64(min(max(weight, 1), maxWeight))
		l.weights += a.weight
	}
	return a
}

// release ends one flow of the account.
func (l *lane) release(a *account) {
	a.flows--
	if a.flows > 0 {
		return
	}
	l.weights -= a.weight
	if a.turn <= l.clock {
		delete(l.accounts, a.name)
	}
	if len(l.accounts) > maxIdle {
		l.sweep()
	}
}

// sweep forgets idle accounts: those that the clock has passed, and if that is
// not enough all of them, whose only loss is that the next turn comes earlier.
func (l *lane) sweep() {
	idle := 0
	for name, a := range l.accounts {
		switch {
		case a.flows > 0:
		case a.turn <= l.clock:
			delete(l.accounts, name)
		default:
			idle++
		}
	}
	if idle <= maxIdle/2 {
		return
	}
	for name, a := range l.accounts {
		if a.flows == 0 {
			delete(l.accounts, name)
		}
	}
}

// serve moves the account's turn on.
func (l *lane) serve(f *flow) {
	start := max(f.turn, l.clock)
	l.clock = start
	f.account.turn = max(f.account.turn, start) + f.account.spread/f.account.weight
}

// ahead is how many of the lane's waiters are likely served before one of the
// account that comes now and has so many of its own behind it.
func (l *lane) ahead(name string, weight, behind int) int64 {
	own, share := 0, float64(min(max(weight, 1), maxWeight))
	total := l.weights + share
	if a := l.accounts[name]; a != nil && a.flows > 0 {
		own, share, total = a.waiting-behind, a.weight, l.weights
	}
	turns := float64(own+1)*total/share - 1
	return min(int64(l.waiting), int64(turns))
}
