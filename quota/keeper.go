package quota

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/enrich"
)

// Keeper keeps the quotas of all providers. Safe for concurrent use.
type Keeper struct {
	config   Config
	observer Observer
	log      *slog.Logger
	money    *money
	board    *switchboard

	redis      redis.UniversalClient // nil: this process keeps quotas alone
	told       *redis.PubSub         // pauses and switches
	cancel     context.CancelFunc
	tending    sync.WaitGroup
	replica    string
	prefix     string     // of keys in Redis
	changing   sync.Mutex // serializes Apply and Close, and guards config
	schedulers atomic.Pointer[map[string]*scheduler]
	journal    *journal // nil: there is no state file
	// parked is what was known of providers that are not configured now, and of
	// all before they are; a provider that comes back goes on with it.
	parked         map[string]storedProvider
	unclean, doubt bool // how the process before ended
}

// Options are a Keeper's collaborators; the zero Options have none.
type Options struct {
	Observer Observer     // nil: [Nobody]
	Log      *slog.Logger // nil: the default logger
	Dialer   Dialer       // to Redis; nil: the usual one
}

// New keeps the limits of the named providers. A provider without limits is
// only paused and resumed; one that is not named may not be called. Close ends
// what New began.
func New(config Config, limits map[string][]enrich.Limit, options Options) (*Keeper, error) {
	if problems := config.Validate(); len(problems) > 0 {
		return nil, fmt.Errorf("quota: %w", errors.Join(problems...))
	}
	k := &Keeper{config: config.WithDefaults(), board: newSwitchboard(), observer: options.Observer, log: options.Log, replica: rand.Text()}
	k.prefix = k.config.Redis.Prefix
	if k.observer == nil {
		k.observer = Nobody{}
	}
	if k.log == nil {
		k.log = slog.Default()
	}
	if k.config.Redis.Enabled() {
		client, err := k.config.Redis.connect(options.Dialer)
		if err != nil {
			return nil, fmt.Errorf("quota: redis: %w", err)
		}
		k.redis = client
		k.told = client.Subscribe(context.Background(), k.channel(), k.switchChannel())
	}
	k.money = newMoney(k.bank(), k.config.Replicas)
	k.schedulers.Store(&map[string]*scheduler{})
	before, err := k.openJournal()
	k.board.restore(before.Stops)
	if k.redis != nil {
		_ = k.shareSwitches(context.Background()) // tend tries again
	}
	if err == nil {
		err = k.Apply(limits)
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	k.money.restore(before.Purses, k.doubt)
	k.unclean, k.doubt = false, false
	if k.journal != nil {
		k.money.journal = k.journal
		k.journal.start()
	}
	if k.redis != nil {
		ctx, cancel := context.WithCancel(context.Background())
		k.cancel = cancel
		k.tending.Go(k.listen)
		k.tending.Go(func() { k.tend(ctx) })
	}
	if k.redis == nil && k.config.Replicas > 1 {
		k.log.Warn("quota: no Redis is configured; every replica gets a fixed part of each limit, and what an idle one does not use is lost",
			"replicas", k.config.Replicas)
	}
	return k, nil
}

// Apply changes the limits while calls go on: all of them, or none if one is
// bad. What was spent stays spent, so that a reload never refills anything;
// waiters stay, those of providers that are gone are refused.
func (k *Keeper) Apply(limits map[string][]enrich.Limit) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	return k.apply(k.config, limits)
}

// ApplyConfig is Apply with a changed configuration: caps keep what was spent of
// them, switches hold at once. It refuses what [Config.Fixed] names.
func (k *Keeper) ApplyConfig(config Config, limits map[string][]enrich.Limit) error {
	problems := config.Validate()
	config = config.WithDefaults()
	k.changing.Lock()
	defer k.changing.Unlock()
	for _, field := range k.config.Fixed(config) {
		problems = append(problems, fmt.Errorf("%s: takes effect after a restart only", field))
	}
	if len(problems) > 0 {
		return fmt.Errorf("quota: %w", errors.Join(problems...))
	}
	return k.apply(config, limits)
}

// apply is given a good configuration with its defaults.
func (k *Keeper) apply(config Config, limits map[string][]enrich.Limit) error {
	var problems []error
	compiled := make(map[string][]rule, len(limits))
	for _, provider := range slices.Sorted(maps.Keys(limits)) {
		rules, wrong := compile(limits[provider])
		for _, problem := range wrong {
			problems = append(problems, fmt.Errorf("quota: provider %s: %w", provider, problem))
		}
		compiled[provider] = rules
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	k.config = config
	k.money.apply(config.Caps, compiled)
	k.board.configure(time.Now(), config.Stopped)
	before, after := *k.schedulers.Load(), map[string]*scheduler{}
	for provider, rules := range compiled {
		rules = k.part(withoutMoney(rules))
		if s := before[provider]; s != nil {
			s.apply(config, rules)
			after[provider] = s
		} else {
			s = newScheduler(provider, k.parts(provider), rules)
			s.restore(k.parked[provider], !k.unclean, k.doubt)
			delete(k.parked, provider)
			after[provider] = s
		}
	}
	k.schedulers.Store(&after)
	for provider, s := range before {
		if after[provider] == nil {
			s.close()
			k.parked[provider], _ = s.store(true)
		}
	}
	k.heed()
	return nil
}

// parts are what a provider's scheduler works with.
func (k *Keeper) parts(provider string) schedulerParts {
	parts := schedulerParts{config: k.config, board: k.board, observer: k.observer, log: k.log, replica: k.replica}
	if k.journal != nil {
		parts.save = k.journal.want
	}
	if k.redis != nil {
		// The braces keep all keys of a provider in one slot of a cluster.
		parts.channel = k.channel()
		parts.store = &store{client: k.redis, key: k.prefix + "quota:{v:" + provider + "}"}
	}
	return parts
}

// part is this process's part of the limits.
func (k *Keeper) part(rules []rule) []rule {
	if k.redis != nil {
		return rules
	}
	for i := range rules {
		rules[i] = rules[i].divide(int64(k.config.Replicas))
	}
	return rules
}

func withoutMoney(rules []rule) []rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.Unit == enrich.Money })
}

// Acquire waits in the ask's lane until the call may begin, but not beyond ctx's
// end. It refuses at once when the call cannot begin in time. The error is a
// [*Refusal].
func (k *Keeper) Acquire(ctx context.Context, ask Ask) (*Permit, error) {
	s := (*k.schedulers.Load())[ask.Provider]
	if s == nil {
		return nil, k.refuse(ask, &Refusal{Provider: ask.Provider, Reason: enrich.ReasonNoSource})
	}
	if refusal := k.board.refusal(ask.Provider, ask.Account); refusal != nil {
		return nil, k.refuse(ask, refusal)
	}
	money, refusal := k.money.reserve(ctx, ask)
	if refusal != nil {
		return nil, k.refuse(ask, refusal)
	}
	spent, waited, refusal := s.acquire(ctx, ask)
	if refusal != nil {
		money.settle(0)
		return nil, k.refuse(ask, refusal)
	}
	k.observer.Granted(ask.Provider, laneNames[laneOf(ask.Lane)], waited)
	return &Permit{scheduler: s, spent: spent, money: money, waited: waited}, nil
}

func (k *Keeper) refuse(ask Ask, refusal *Refusal) error {
	k.observer.Refused(ask.Provider, laneNames[laneOf(ask.Lane)], refusal.Reason)
	return refusal
}

// Forecast tells without waiting or spending when the call could begin and why
// not now; the reason is empty when it could.
func (k *Keeper) Forecast(ask Ask) Refusal {
	s := (*k.schedulers.Load())[ask.Provider]
	if s == nil {
		return Refusal{Provider: ask.Provider, Reason: enrich.ReasonNoSource}
	}
	if refusal := k.board.refusal(ask.Provider, ask.Account); refusal != nil {
		return *refusal
	}
	now := time.Now()
	if refusal := k.money.forecast(now, ask); refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forecast(now, s.class(ask), laneOf(ask.Lane), ask)
}

// Pause closes a provider until then; zero: until somebody resumes it. Callers
// who cannot wait that long are refused. The longer of two pauses holds.
// Unknown providers are ignored.
func (k *Keeper) Pause(provider string, until time.Time, reason enrich.PauseReason) {
	if s := (*k.schedulers.Load())[provider]; s != nil {
		s.setPause(Pause{Reason: reason, Until: until})
	}
}

// Resume ends a provider's pause, whoever began it; if reasons are named, only
// one for any of them.
func (k *Keeper) Resume(provider string, reasons ...enrich.PauseReason) {
	if s := (*k.schedulers.Load())[provider]; s != nil {
		s.resume(reasons)
	}
}

// Close refuses everybody who waits and all who come. It may be called once
// only.
func (k *Keeper) Close() error {
	k.changing.Lock()
	for _, s := range *k.schedulers.Load() {
		s.close()
	}
	k.changing.Unlock()
	if k.journal != nil {
		k.journal.close()
	}
	if k.redis == nil {
		return nil
	}
	if k.cancel != nil {
		k.cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), redisPatience)
	defer cancel()
	k.money.giveBack(ctx, true)
	err := k.told.Close()
	k.tending.Wait()
	return errors.Join(err, k.redis.Close())
}
