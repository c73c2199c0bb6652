package quota

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/enrich"
)

// order is what a replica tells the shared account of one provider and asks of
// it, as scripts/book.lua reads it. Times are microseconds; units, running and
// places stand in the order of the limits.
type order struct {
	Replica string `json:"replica"`
	// Seq numbers the replica's orders, so that one whose answer was lost can
	// be repeated. Again is such a repetition: if it was not obeyed before, it
	// books nothing.
	Seq   int64 `json:"seq"`
	Again bool  `json:"again"`
	// Epoch and Seen are the state that the replica knows: another one, or an
	// older, has lost something. Fresh names the state if there is none.
	Epoch string `json:"epoch"`
	Seen  int64  `json:"seen"`
	Fresh string `json:"fresh"`

	Want int64 `json:"want"`
	// Urgent is for the interactive lane: only calls that can begin within
	// Before, if it is not 0, are of use.
	Urgent  bool  `json:"urgent"`
	Before  int64 `json:"before"`
	Waiting int64 `json:"waiting"`
	// Held is how many calls are booked that the vendor may not have seen.
	Held int64 `json:"held"`
	// Interactive is how long ago an interactive caller asked; -1: long.
	Interactive int64   `json:"interactive"`
	Interval    int64   `json:"interval"`
	Guard       int64   `json:"guard"`
	Reserve     float64 `json:"reserve"`

	Limits  []orderLimit `json:"limits"`
	Units   []int64      `json:"units"`
	Running []int64      `json:"running"`
	Places  []int64      `json:"places"`
	Returns []giveBack   `json:"returns"`
	Extras  []extra      `json:"extras"`
	Late    []late       `json:"late"`
	Lowered []lowered    `json:"lowered"`

	// Accounts wait at this replica, with their weights.
	Accounts []string `json:"accounts"`
	Weights  []int64  `json:"weights"`

	// Pause closes the provider, and Surprise tells that it refused what the
	// account allowed. Resume opens it. Either is told on the channel.
	Pause    *orderPause `json:"pause,omitempty"`
	Surprise bool        `json:"surprise"`
	Resume   bool        `json:"resume"`
	Channel  string      `json:"channel"`
	Provider string      `json:"provider"`

	// Restore tells a state that was lost what the replica knew of the limits:
	// Memos, which were true at MemoAt.
	Restore bool     `json:"restore"`
	Memos   []string `json:"memos,omitempty"`
	MemoAt  int64    `json:"memo_at"`

	age      int // of the replica's limits
	accounts []*account
}

type orderLimit struct {
	// ID is what the limit means, but for its amount.
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Shape  enrich.LimitShape `json:"shape"`
	Amount int64             `json:"amount"`
	Window int64             `json:"window"`
	Burst  int64             `json:"burst"`
	// Edges are where this calendar window begins and ends, and the next ends.
	Edges []int64 `json:"edges,omitempty"`
}

// orderPause is a pause; till 0: until somebody resumes the provider.
type orderPause struct {
	Till   int64              `json:"till"`
	Reason enrich.PauseReason `json:"reason"`
	Probed bool               `json:"probed"`
}

// giveBack is booked calls that were never sent.
type giveBack struct {
	At     int64   `json:"at"`     // when they were due
	Booked int64   `json:"booked"` // when the last call of their lease was
	Units  []int64 `json:"units"`
	N      int64   `json:"n"`
}

// extra is calls that were sent without a lease at about the same time.
type extra struct {
	At    int64   `json:"at"`
	Units []int64 `json:"units"`
	N     int64   `json:"n"`
}

// late is a booked call that left at another time than it was due.
type late struct {
	At     int64   `json:"at"`     // when it was due
	Booked int64   `json:"booked"` // when the last call of its lease was
	Left   int64   `json:"left"`
	Units  []int64 `json:"units"`
}

// lowered is what a vendor said about a limit; the first limit is 1.
type lowered struct {
	Limit     int   `json:"limit"`
	Amount    int64 `json:"amount"`
	Remaining int64 `json:"remaining"`
	Reset     int64 `json:"reset"`
}

// The words of a reply.
const (
	granted   = "granted"
	full      = "full"
	paused    = "paused"
	stateLost = "lost"
	badClock  = "clock"
)

// reply is the answer to an order.
type reply struct {
	status     string
	now        int64
	epoch      string
	seq        int64
	pausedTill int64 // 0: without end, -1: no pause
	reason     enrich.PauseReason
	guard      time.Duration
	share      float64 // of all calls that is this replica's
	room       int64

	start, gap, late, till int64
	n                      int64

	allowed []int64    // places per limit, -1 where it is no concurrency
	lefts   [][2]int64 // units left and when they are full again
	memos   []string
	spreads []int64 // at how many replicas each of our accounts waits
}

// store runs the scripts for one provider's state.
type store struct {
	client redis.UniversalClient
	key    string
}

func (s *store) book(ctx context.Context, o order) (reply, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	answer, err := bookScript.Run(ctx, s.client, []string{s.key}, text).Slice()
	if err != nil {
		return reply{}, err
	}
	return readReply(answer)
}

func readReply(answer []any) (r reply, err error) {
	bad := false
	read := fields{answer, &bad}
	r.status, r.now = read.text(), read.int()
	if r.status != stateLost && r.status != badClock {
		r.epoch, r.seq = read.text(), read.int()
		r.pausedTill, r.reason = read.int(), enrich.PauseReason(read.text())
		r.guard = time.Duration(read.int()) * time.Microsecond
		r.share, r.room = float64(read.int())/1e6, read.int()
		r.start, r.gap, r.n, r.late, r.till = read.int(), read.int(), read.int(), read.int(), read.int()
		for list := read.list(); list.more(); {
			r.allowed = append(r.allowed, list.int())
		}
		for list := read.list(); list.more(); {
			pair := list.list()
			r.lefts = append(r.lefts, [2]int64{pair.int(), pair.int()})
		}
		for list := read.list(); list.more(); {
			r.memos = append(r.memos, list.text())
		}
		for list := read.list(); list.more(); {
			r.spreads = append(r.spreads, list.int())
		}
	}
	if bad {
		return reply{}, errUnreadable
	}
	return r, nil
}

// fields reads an answer in order, and notes when it is not what it should be.
type fields struct {
	answer []any
	bad    *bool
}

func (f *fields) more() bool { return len(f.answer) > 0 && !*f.bad }

func (f *fields) next() any {
	if len(f.answer) == 0 {
		*f.bad = true
		return nil
	}
	first := f.answer[0]
	f.answer = f.answer[1:]
	return first
}

func (f *fields) text() string {
	text, ok := f.next().(string)
	*f.bad = *f.bad || !ok
	return text
}

func (f *fields) int() int64 {
	number, ok := f.next().(int64)
	*f.bad = *f.bad || !ok
	return number
}

func (f *fields) list() *fields {
	list, ok := f.next().([]any)
	*f.bad = *f.bad || !ok
	return &fields{list, f.bad}
}
