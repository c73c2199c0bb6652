package quota

import (
	"maps"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// State is one provider's quota at a moment.
type State struct {
	Provider string
	Limits   []Level
	// Pause is zero when the provider is open.
	Pause Pause
	// Waiting callers per lane.
	Waiting map[enrich.Lane]int
	// Running is how many permits are neither settled nor returned.
	Running int
	// Alone is since when this replica has been without the Redis that it shares
	// quotas through; zero when it is not.
	Alone time.Time
}

// Snapshot describes all providers, by name.
func (k *Keeper) Snapshot() []State {
	schedulers := *k.schedulers.Load()
	states := make([]State, 0, len(schedulers))
	for _, provider := range slices.Sorted(maps.Keys(schedulers)) {
		state := schedulers[provider].state()
		state.Limits = append(state.Limits, k.money.levels(provider)...)
		states = append(states, state)
	}
	return states
}

// StateFailures is how often the state file could not be written.
func (k *Keeper) StateFailures() uint64 {
	if k.journal == nil {
		return 0
	}
	return k.journal.failed.Load()
}

func (s *scheduler) state() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	state := State{Provider: s.provider, Limits: s.source.levels(now), Waiting: map[enrich.Lane]int{}, Running: s.running}
	if s.pause.active(now) {
		state.Pause = s.pause
	}
	if remote, ok := s.source.(*shared); ok {
		state.Alone = remote.away.since
	}
	for place, l := range s.lanes {
		state.Waiting[laneNames[place]] = l.waiting
	}
	return state
}

// levels describes the provider's own limits and caps on money.
func (m *money) levels(provider string) []Level {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var levels []Level
	for _, c := range m.caps {
		if c.provider != provider || c.account == everyone {
			continue
		}
		p := m.purse(now, c, "", true)
		levels = append(levels, Level{
			Name: c.id, Unit: enrich.Money, Shape: enrich.FixedWindow,
			Amount: int64(c.amount), Left: max(0, int64(p.left())), ResetAt: p.end,
		})
	}
	return levels
}
