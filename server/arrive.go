package server

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/tap"

	"github.com/enrichd/enrichd/enrich"
)

// arrivals end the gRPC requests whose messages do not arrive: gRPC itself waits
// for them without limit, in a drain too. A timer for each request, and a function
// for each that a drain calls, were a twentieth of a memory hit: here one timer is
// for all.
type arrivals struct {
	mu       sync.Mutex
	patience time.Duration // how long a message may take
	// waiting are in the order of their headers. Nothing tells of a request that
	// ended without its message, so those who wait no more are looked for and taken
	// out whenever there are as many as most.
	waiting []*arrival
	most    int
	timer   *time.Timer
	armed   bool // the timer runs, as it does whenever any are waiting
}

// fewArrivals are not worth a look at who of them waits no more.
const fewArrivals = 64

// arrival is a gRPC request whose headers are there.
type arrival struct {
	context.Context
	cancel context.CancelFunc
	until  time.Time   // the message must be there; of arrivals
	there  atomic.Bool // it is
}

// arrive begins a call and gives it the time to send its message.
func (s *Server) arrive(ctx context.Context, info *tap.Info) (context.Context, error) {
	arriving := &arrival{}
	arriving.Context, arriving.cancel = context.WithCancel(ctx)
	ctx, began := begin(arriving.Context)
	began.form, began.headers, began.arriving = enrich.RenderedProto, grpcHeaders(info.Header), arriving
	if methods[info.FullMethodName] != nil {
		ctx = began.traced(ctx, began.headers)
	}
	s.arrivals.add(arriving, began.began)
	return ctx, nil
}

// arrived lets a request take its time from here on.
func (c *call) arrived() { c.arriving.there.Store(true) }

// add waits for the message of one more request.
func (w *arrivals) add(a *arrival, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) >= w.most {
		w.clear(began)
		w.most = 2*len(w.waiting) + fewArrivals
	}
	a.until = began.Add(w.patience)
	w.waiting = append(w.waiting, a)
	if !w.armed {
		w.arm(w.patience)
	}
}

// arm has the timer end in a while. The caller holds the lock.
func (w *arrivals) arm(wait time.Duration) {
	w.armed = true
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.sweep)
		return
	}
	w.timer.Reset(wait)
}

// sweep ends the requests whose time is over, and has the timer end with the time
// of the next.
func (w *arrivals) sweep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.clear(now)
	if w.armed = len(w.waiting) > 0; w.armed {
		w.arm(w.waiting[0].until.Sub(now))
	}
}

// clear takes out who waits no more, and ends who has waited too long. The caller
// holds the lock.
func (w *arrivals) clear(now time.Time) {
	w.waiting = slices.DeleteFunc(w.waiting, func(a *arrival) bool {
		if a.there.Load() || a.Err() != nil {
			return true
		}
		if now.Before(a.until) {
			return false
		}
		a.cancel()
		return true
	})
}

// hasten leaves messages only a moment to come, for the service stops. One that was
// sent with its headers is on its way and must not be lost.
func (w *arrivals) hasten() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.patience = arrivalGrace
	until := time.Now().Add(arrivalGrace)
	for _, a := range w.waiting {
		a.until = until
	}
	if len(w.waiting) > 0 {
		w.arm(arrivalGrace)
	}
}
