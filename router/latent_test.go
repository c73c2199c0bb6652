package router

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// TestLatent holds a latent context to what a made one says, before somebody waits
// for it and after.
func TestLatent(t *testing.T) {
	type key struct{}
	for name, wait := range map[string]func(context.Context){
		"unmade": func(context.Context) {},
		"made":   func(ctx context.Context) { ctx.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
				begin := func(urgency *enrich.Urgency, deadline time.Time) *latent {
					l := &latent{Context: parent, deadline: deadline}
					if urgency != nil {
						l.news = &walk{ctx: parent, ask: enrich.Ask{Lane: enrich.Bulk, Urgency: urgency}}
					}
					wait(l)
					return l
				}
				expect := func(what string, l *latent, want error) {
					t.Helper()
					synctest.Wait()
					if err := l.Err(); !errors.Is(err, want) {
						t.Errorf("%s: %v, want %v", what, err, want)
					}
					child, end := context.WithCancel(l)
					defer end()
					synctest.Wait()
					if ended := child.Err() != nil; ended != (want != nil) {
						t.Errorf("%s: a child says %v", what, child.Err())
					}
					if l.Value(key{}) != "kept" {
						t.Errorf("%s: the parent's value is lost", what)
					}
				}
				timed := begin(nil, time.Now().Add(time.Second))
				if deadline, ok := timed.Deadline(); !ok || !deadline.Equal(time.Now().Add(time.Second)) {
					t.Errorf("deadline %s %t", deadline, ok)
				}
				urgency := enrich.NewUrgency(enrich.Bulk)
				told, released := begin(urgency, time.Time{}), begin(enrich.NewUrgency(enrich.Bulk), time.Time{})
				orphaned := begin(enrich.NewUrgency(enrich.Bulk), time.Time{})
				defer orphaned.release()
				time.Sleep(time.Second - time.Nanosecond)
				expect("before", begin(nil, time.Now().Add(1)), nil)
				if timed.Err() != nil || told.Err() != nil {
					t.Errorf("ended early: %v %v", timed.Err(), told.Err())
				}
				urgency.Join(enrich.Interactive)
				expect("news", told, context.Canceled)
				time.Sleep(time.Nanosecond)
				expect("deadline", timed, context.DeadlineExceeded)
				released.release()
				expect("released", released, context.Canceled)
				cancel()
				expect("parent", orphaned, context.Canceled)
				told.release()
				timed.release()
			})
		})
	}
}

// TestLatentStaysEnded has further ends follow the first.
func TestLatentStaysEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := &latent{Context: t.Context(), deadline: time.Now().Add(time.Second)}
		time.Sleep(time.Second)
		if err := soon.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after its deadline: %v", err)
		}
		soon.release()
		if err := soon.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("released after its deadline: %v", err)
		}
		select {
		case <-soon.Done():
		default:
			t.Error("has an error and goes on")
		}
	})
}

// TestNewsOfAnAwaitedCallEndsAWait looks at a wait that nobody has made yet.
func TestNewsOfAnAwaitedCallEndsAWait(t *testing.T) {
	call := &late{}
	call.over, call.done = context.WithCancel(t.Context())
	waiting := &walk{ctx: t.Context(), awaited: []awaited{{call, -1}}}
	news, release := waiting.untilNews()
	defer release()
	if err := news.Err(); err != nil {
		t.Errorf("before the call has ended: %v", err)
	}
	call.done()
	if err := news.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("after the call has ended: %v", err)
	}
	select {
	case <-news.Done():
	default:
		t.Error("has an error and goes on")
	}
}
