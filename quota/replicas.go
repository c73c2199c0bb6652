package quota

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/enrich"
)

// bank is where caps are shared; nil: nowhere.
func (k *Keeper) bank() bank {
	if k.redis == nil {
		return nil
	}
	return &redisBank{client: k.redis, prefix: k.prefix, replica: k.replica}
}

// tend warns of a Redis that may forget, gives unused money back and sees to the
// switches.
func (k *Keeper) tend(ctx context.Context) {
	warnOfEviction(context.WithoutCancel(ctx), k.redis, k.log)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for second := 1; ; second++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if second%int(idlePurse/time.Second) == 0 {
			k.money.giveBack(ctx, false)
		}
		k.tendSwitches(ctx, second)
	}
}

// channel is where replicas tell each other of pauses.
func (k *Keeper) channel() string { return k.prefix + "quota:pauses" }

// listen hears of pauses and switches until the subscription is closed. Messages
// are lost while the connection is; missed pauses come with the next answers,
// switches are read anew with every subscription.
func (k *Keeper) listen() {
	for message := range k.told.ChannelWithSubscriptions() {
		if told, ok := message.(*redis.Message); ok && told.Channel == k.channel() {
			k.hear(told.Payload)
			continue
		}
		_ = k.shareSwitches(context.Background()) // tend tries again
	}
}

// hear takes a message of another replica: provider, end of the pause, guard,
// reason.
func (k *Keeper) hear(message string) {
	words := strings.Fields(message)
	if len(words) < 3 {
		return
	}
	s := (*k.schedulers.Load())[words[0]]
	till, err := strconv.ParseInt(words[1], 10, 64)
	guard, err2 := strconv.ParseInt(words[2], 10, 64)
	if s == nil || err != nil || err2 != nil {
		return
	}
	reason := enrich.PauseReason(strings.Join(words[3:], " "))
	s.mu.Lock()
	defer s.mu.Unlock()
	if remote, ok := s.source.(*shared); ok && !s.closed {
		s.learn(time.Now(), remote.heard(till, reason, time.Duration(guard)*time.Microsecond))
	}
}
