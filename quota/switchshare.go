package quota

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/switch.lua
var switchSource string

// switchScript tells and reads the switches.
var switchScript = redis.NewScript(switchSource)

// readSwitches is how often switches are read although nobody told of a change,
// in seconds: a message can be lost.
const readSwitches = 5

// switchChannel is where replicas tell each other that a switch was turned.
func (k *Keeper) switchChannel() string { return k.prefix + "quota:switches" }

// shareSwitches tells the other replicas what was turned here and takes over what
// is off there.
func (k *Keeper) shareSwitches(ctx context.Context) error {
	b := k.board
	select {
	case b.sharing <- struct{}{}:
		defer func() { <-b.sharing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	told, args := b.news(k.switchChannel())
	reply, err := switchScript.Run(ctx, k.redis, []string{k.prefix + "quota:{switches}"}, args...).StringSlice()
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		maps.Copy(b.untold, told)
		return err
	}
	b.take(reply)
	k.heed()
	return nil
}

// news is what the script is told, and which changes are in it.
func (b *switchboard) news(channel string) (told map[stopKey]bool, args []any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	told = b.untold
	b.untold = map[stopKey]bool{}
	args = []any{b.epoch, b.seq, rand.Text(), channel, len(told)}
	for key := range told {
		value := ""
		if stop, off := b.switched[key]; off {
			value = stop.value()
		}
		args = append(args, key.field(), value)
	}
	for key, stop := range b.switched {
		args = append(args, key.field(), stop.value())
	}
	return told, args
}

// take takes over what the script replied. What was turned here meanwhile holds;
// fields that another version of the program wrote mean nothing to this one.
func (b *switchboard) take(reply []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switched := map[stopKey]Stop{}
	epoch, seq := "", int64(0)
	for i := 0; i+1 < len(reply); i += 2 {
		switch field, value := reply[i], reply[i+1]; field {
		case "epoch":
			epoch = value
		case "seq":
			seq, _ = strconv.ParseInt(value, 10, 64)
		default:
			if stop, ok := readStop(field, value); ok {
				switched[stopKey{stop.Scope, stop.Name}] = stop
			}
		}
	}
	for key := range b.untold {
		if stop, off := b.switched[key]; off {
			switched[key] = stop
		} else {
			delete(switched, key)
		}
	}
	b.epoch, b.seq, b.switched = epoch, seq, switched
	b.publish()
}

// field and value are a switch in Redis.
func (key stopKey) field() string { return "off:" + string(key.scope) + "/" + key.name }

func (s Stop) value() string {
	text, _ := json.Marshal(storedStop{Reason: s.Reason, Since: s.Since}) // of a string and a time
	return string(text)
}

func readStop(field, value string) (Stop, bool) {
	name, ok := strings.CutPrefix(field, "off:")
	scope, name, ok2 := strings.Cut(name, "/")
	var stored storedStop
	if err := json.Unmarshal([]byte(value), &stored); err != nil || !ok || !ok2 {
		return Stop{}, false
	}
	return Stop{Scope: Scope(scope), Name: name, Reason: stored.Reason, Since: stored.Since}, true
}

// tendSwitches reads the switches now and then, and tells what could not be told.
func (k *Keeper) tendSwitches(ctx context.Context, second int) {
	k.board.mu.Lock()
	behind := len(k.board.untold) > 0 || k.board.epoch == ""
	k.board.mu.Unlock()
	if behind || second%readSwitches == 0 {
		_ = k.shareSwitches(ctx) // tried again in a second
	}
}
