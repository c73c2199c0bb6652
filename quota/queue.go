package quota

import (
	"container/heap"
	"time"
)

// waiter is a caller that waits for its turn. The scheduler's lock guards it;
// done tells the caller that permit or refusal is set.
type waiter struct {
	flow     *flow
	next     *waiter // in the flow
	prev     *waiter
	began    time.Time
	since    time.Time // that it keeps its place by
	deadline time.Time // zero: none
	place    int       // in the queue's deadlines, -1: in none
	done     chan struct{}
	spent    spent
	refusal  *Refusal
	ended    bool
}

// newQueue is an empty queue.
func newQueue(c *class, l *lane) *queue {
	return &queue{class: c, lane: l, flows: map[string]*flow{}}
}

// queue holds the waiters of one class in one lane: accounts by the time their
// turn comes, and per account who began first. Joining, leaving and taking the
// first cost O(log n). Who began earlier than the last in the line walks to its
// place, mostly from where another did.
type queue struct {
	class     *class
	lane      *lane
	flows     map[string]*flow
	turns     []*flow // heap by turn
	deadlines []*waiter
	waiting   int
	blocked   bool // in this pass of the scheduler
}

// flow is one account's line in a queue.
type flow struct {
	queue       *queue
	account     *account
	turn        float64 // virtual time at which it is served next
	began       time.Time
	place       int // in queue.turns
	first, last *waiter
	waiting     int
	// returned came back last of those who are in the line: who comes back after
	// it mostly stands behind it.
	returned *waiter
}

func (q *queue) join(w *waiter, name string, weight int) {
	f := q.flows[name]
	if f == nil {
		account := q.lane.account(name, weight)
		account.flows++
		f = &flow{queue: q, account: account, turn: max(account.turn, q.lane.clock), began: w.began}
		q.flows[name] = f
		heap.Push((*turns)(q), f)
	}
	f.line(w)
	f.waiting++
	f.account.waiting++
	q.waiting++
	q.lane.waiting++
	w.place = -1
	if !w.deadline.IsZero() {
		heap.Push((*deadlines)(q), w)
	}
}

// line puts w behind those who have waited for as long.
func (f *flow) line(w *waiter) {
	w.flow, w.prev = f, f.last
	if f.last != nil && w.since.Before(f.last.since) {
		if w.next = f.first; f.returned != nil && !w.since.Before(f.returned.since) {
			w.next = f.returned
		}
		for !w.since.Before(w.next.since) {
			w.next = w.next.next
		}
		w.prev, f.returned = w.next.prev, w
	}
	if w.prev == nil {
		f.first = w
	} else {
		w.prev.next = w
	}
	if w.next == nil {
		f.last = w
	} else {
		w.next.prev = w
	}
}

// behind is how many of an account's line would stand behind one that comes now and
// began at a time; zero: now. It is looked for from both ends of the line, for
// whoever comes mostly belongs at one of them.
func (q *queue) behind(name string, since time.Time) int {
	if q == nil || q.flows[name] == nil || since.IsZero() {
		return 0
	}
	f := q.flows[name]
	front, back := f.first, f.last
	for passed := 0; ; passed++ {
		switch {
		case back == nil || !since.Before(back.since):
			return passed
		case since.Before(front.since):
			return f.waiting - passed
		}
		front, back = front.next, back.prev
	}
}

// leave takes w out of the queue, wherever it stands.
func (q *queue) leave(w *waiter) {
	f := w.flow
	if f.returned == w {
		f.returned = w.prev
	}
	if w.prev == nil {
		f.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		f.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	if w.place >= 0 {
		heap.Remove((*deadlines)(q), w.place)
	}
	f.waiting--
	f.account.waiting--
	q.waiting--
	q.lane.waiting--
	w.ended = true
	if f.first == nil {
		heap.Remove((*turns)(q), f.place)
		delete(q.flows, f.account.name)
		q.lane.release(f.account)
	}
}

// head is the waiter whose turn it is. An account that was served in another
// queue since is put back to its new turn.
func (q *queue) head() *waiter {
	for {
		f := q.turns[0]
		if f.turn >= f.account.turn {
			return f.first
		}
		f.turn = f.account.turn
		heap.Fix((*turns)(q), 0)
	}
}

// turns and deadlines are the heaps of a queue.
type (
	turns     queue
	deadlines queue
)

func (h *turns) Len() int { return len(h.turns) }
func (h *turns) Less(i, j int) bool {
	a, b := h.turns[i], h.turns[j]
	return a.turn < b.turn || a.turn == b.turn && a.began.Before(b.began)
}
func (h *turns) Swap(i, j int) {
	h.turns[i], h.turns[j] = h.turns[j], h.turns[i]
	h.turns[i].place, h.turns[j].place = i, j
}
func (h *turns) Push(x any) {
	f := x.(*flow)
	f.place = len(h.turns)
	h.turns = append(h.turns, f)
}
func (h *turns) Pop() any {
	last := len(h.turns) - 1
	f := h.turns[last]
	h.turns[last] = nil
	h.turns = h.turns[:last]
	return f
}

func (h *deadlines) Len() int { return len(h.deadlines) }
func (h *deadlines) Less(i, j int) bool {
	return h.deadlines[i].deadline.Before(h.deadlines[j].deadline)
}
func (h *deadlines) Swap(i, j int) {
	h.deadlines[i], h.deadlines[j] = h.deadlines[j], h.deadlines[i]
	h.deadlines[i].place, h.deadlines[j].place = i, j
}
func (h *deadlines) Push(x any) {
	w := x.(*waiter)
	w.place = len(h.deadlines)
	h.deadlines = append(h.deadlines, w)
}
func (h *deadlines) Pop() any {
	last := len(h.deadlines) - 1
	w := h.deadlines[last]
	h.deadlines[last] = nil
	h.deadlines = h.deadlines[:last]
	w.place = -1
	return w
}
