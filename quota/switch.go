package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Scope is what a switch stops.
type Scope string

// The scopes of a switch.
const (
	ScopeAll      Scope = "all"      // every call to a vendor
	ScopeProvider Scope = "provider" // calls to one provider
	ScopeAccount  Scope = "account"  // calls for one account
)

// Stop is a switch that is off: calls in its scope are refused.
type Stop struct {
	Scope Scope
	// Name of the provider or account; empty for ScopeAll.
	Name string
	// Reason is what the operator said.
	Reason string
	Since  time.Time
	// Configured tells that the configuration turns it off, which only the
	// configuration can undo.
	Configured bool
}

// StopConfig is what is stopped by configuration. What is known already is still
// answered. The zero StopConfig stops nothing.
type StopConfig struct {
	// All stops every call to a vendor. Default false.
	All bool `yaml:"all"`
	// Providers that are not called. Default none.
	Providers []string `yaml:"providers"`
	// Accounts for which nobody is called. Default none.
	Accounts []string `yaml:"accounts"`
}

// maxReason bounds the reason of a switch, in bytes.
const maxReason = 500

// Switch turns a switch off, so that calls in its scope are refused and those who
// wait for one too, or on again. It holds at once here, within a second at the
// replicas that share a Redis, and over a restart where there is a Redis or a
// state file. Calls under way end as they would. An error says what is wrong with
// the request, or that others could not be told yet; they will be.
func (k *Keeper) Switch(ctx context.Context, scope Scope, name string, off bool, reason string) error {
	switch {
	case scope != ScopeAll && scope != ScopeProvider && scope != ScopeAccount:
		return fmt.Errorf("quota: scope: %q is none of all, provider, account", scope)
	case (scope == ScopeAll) != (name == ""):
		return errors.New("quota: name: a provider and an account have one, all has none")
	case len(reason) > maxReason:
		return fmt.Errorf("quota: reason: is longer than %d bytes", maxReason)
	}
	k.board.turn(Stop{Scope: scope, Name: name, Reason: reason, Since: time.Now()}, off)
	k.log.Warn("quota: a switch was turned", "scope", string(scope), "name", name, "off", off, "reason", reason)
	k.heed()
	switch {
	case k.redis != nil:
		if err := k.shareSwitches(ctx); err != nil {
			return fmt.Errorf("quota: the switch holds here, the other replicas could not be told yet: %w", err)
		}
	case k.journal != nil:
		return k.journal.wait(ctx)
	}
	return nil
}

// Switches lists the switches that are off, by scope and name.
func (k *Keeper) Switches() []Stop {
	return slices.SortedFunc(maps.Values(*k.board.off.Load()), func(a, b Stop) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Name, b.Name))
	})
}

// heed refuses those who wait for what is stopped.
func (k *Keeper) heed() {
	for _, s := range *k.schedulers.Load() {
		s.heed()
	}
}

func (s *scheduler) heed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range slices.Clone(s.queues) {
		for account, f := range q.flows {
			refusal := s.board.refusal(s.provider, account)
			for refusal != nil && f.first != nil {
				s.refuse(f.first, refusal)
			}
		}
	}
	s.dispatch(time.Now())
}

// stopKey names a switch.
type stopKey struct {
	scope Scope
	name  string
}

// switchboard knows which switches are off. Safe for concurrent use.
type switchboard struct {
	// off is all that is stopped; the map is never changed.
	off atomic.Pointer[map[stopKey]Stop]

	mu         sync.Mutex
	switched   map[stopKey]Stop // by Switch, here or elsewhere
	configured map[stopKey]Stop
	untold     map[stopKey]bool // turned here, and not yet told to others

	epoch string // of the state in Redis that was last seen
	seq   int64  // of its changes

	sharing chan struct{} // holds one while there is an exchange with Redis: one at a time
}

func newSwitchboard() *switchboard {
	b := &switchboard{switched: map[stopKey]Stop{}, untold: map[stopKey]bool{}, sharing: make(chan struct{}, 1)}
	b.off.Store(&map[stopKey]Stop{})
	return b
}

// refusal is why nobody may call the provider for the account; nil: somebody may.
func (b *switchboard) refusal(provider, account string) *Refusal {
	off := *b.off.Load()
	if len(off) == 0 {
		return nil
	}
	for _, key := range [...]stopKey{{ScopeAll, ""}, {ScopeProvider, provider}, {ScopeAccount, account}} {
		if _, stopped := off[key]; stopped {
			return &Refusal{Provider: provider, Reason: enrich.ReasonStopped}
		}
	}
	return nil
}

func (b *switchboard) turn(stop Stop, off bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := stopKey{stop.Scope, stop.Name}
	if off {
		b.switched[key] = stop
	} else {
		delete(b.switched, key)
	}
	b.untold[key] = true
	b.publish()
}

// configure takes over what the configuration stops.
func (b *switchboard) configure(now time.Time, c StopConfig) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.configured
	b.configured = map[stopKey]Stop{}
	add := func(key stopKey) {
		stop := Stop{Scope: key.scope, Name: key.name, Reason: "configuration", Since: now, Configured: true}
		if known, ok := before[key]; ok {
			stop.Since = known.Since
		}
		b.configured[key] = stop
	}
	if c.All {
		add(stopKey{ScopeAll, ""})
	}
	for _, provider := range c.Providers {
		add(stopKey{ScopeProvider, provider})
	}
	for _, account := range c.Accounts {
		add(stopKey{ScopeAccount, account})
	}
	b.publish()
}

// publish makes what is off known to those who ask. The lock must be held.
func (b *switchboard) publish() {
	off := maps.Clone(b.switched)
	maps.Copy(off, b.configured)
	b.off.Store(&off)
}

// stored is what the state file keeps.
func (b *switchboard) stored() []storedStop {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []storedStop
	for _, stop := range b.switched {
		all = append(all, storedStop{Scope: stop.Scope, Name: stop.Name, Reason: stop.Reason, Since: stop.Since})
	}
	return all
}

// restore goes on from what was stored.
func (b *switchboard) restore(all []storedStop) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, stop := range all {
		b.switched[stopKey{stop.Scope, stop.Name}] = Stop{Scope: stop.Scope, Name: stop.Name, Reason: stop.Reason, Since: stop.Since}
	}
	b.publish()
}
