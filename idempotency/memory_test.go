package idempotency

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAnswerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := startStore(t, Config{KeepFor: time.Hour})
		want(t, store, "key", 1, does("first", new(int)), "first")
		time.Sleep(time.Hour - time.Nanosecond)
		want(t, store, "key", 1, never(t), "first")
		time.Sleep(time.Nanosecond)
		want(t, store, "key", 2, does("second", new(int)), "second")
	})
}

// TestMemoryIsBounded keeps the newest answers, and nothing of the others.
func TestMemoryIsBounded(t *testing.T) {
	store := startStore(t, Config{MaxAnswerBytes: 1024, MemoryBytes: 10_000})
	for i := range 1000 {
		want(t, store, fmt.Sprint(i), 1, about(strings.Repeat("x", 1000), keyOf(t, fmt.Sprintf("ada%d@orchard.example", i))), strings.Repeat("x", 1000))
	}
	m := store.memory
	if len(m.byID) != 6 || m.order.Len() != 6 || len(m.about) != 6 || m.bytes > 10_000 || len(store.flights) != 0 {
		t.Errorf("%d answers, %d in order, %d subjects, %d bytes, %d flights", len(m.byID), m.order.Len(), len(m.about), m.bytes, len(store.flights))
	}
	want(t, store, "999", 1, never(t), strings.Repeat("x", 1000))
	if dropped, err := store.EraseSubject(t.Context(), keyOf(t, "ada998@orchard.example")); dropped != 1 || err != nil || len(m.about) != 5 {
		t.Errorf("%d dropped, %v", dropped, err)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for want, config := range map[string]Config{
		"keep_for: ":         {KeepFor: time.Second},
		"max_answer_bytes: ": {MaxAnswerBytes: 1},
		"memory_bytes: ":     {MemoryBytes: 4096},
		"redis.addresses: ":  {Redis: redisAt()},
		"pepper: ":           {Redis: redisAt("127.0.0.1:6379")},
	} {
		if problems := config.Validate(); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("%s has %v", want, problems)
		}
		if _, err := New(config, silent()); err == nil {
			t.Errorf("%s: a store is made", want)
		}
	}
	if problems := (Config{}).Validate(); len(problems) != 0 {
		t.Errorf("the zero Config has %v", problems)
	}
}

func BenchmarkDo(b *testing.B) {
	store := startStore(b, Config{})
	answer := does(strings.Repeat("x", 1500), new(int))
	b.Run("repeated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := store.Do(b.Context(), "sales", "key", [32]byte{1}, answer); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := store.Do(b.Context(), "sales", fmt.Sprint(i), [32]byte{1}, answer); err != nil {
				b.Fatal(err)
			}
		}
	})
}
