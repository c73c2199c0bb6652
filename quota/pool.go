package quota

import "time"

// pool is what Redis last said of the shared account.
type pool struct {
	epoch  string
	seen   int64
	memos  map[string]string // what is needed to restore it, by the limit's id
	lefts  [][2]int64        // units left, and when they are full again
	share  float64           // of all calls that is this replica's
	paused bool
	pause  *orderPause // while paused
	// The server's clock showed micros at the moment at.
	at     time.Time
	micros int64
}

// local is an instant of the server's clock by ours, server the reverse. Ours
// is the monotonic one: a clock that is put does not move leases.
func (p *pool) local(micros int64) time.Time {
	return p.at.Add(time.Duration(micros-p.micros) * time.Microsecond)
}
func (p *pool) server(t time.Time) int64 { return p.micros + t.Sub(p.at).Microseconds() }

// places are a concurrency limit's places that this replica may use, and the
// calls under way in them.
type places struct {
	local   *slots // nil: the limit is no concurrency
	allowed int64
	denied  bool // fewer are allowed than were asked for
	// told is how many are in use as Redis is being told; -1: no order is under
	// way. Until the answer comes no more are used, because the rest may be
	// given to another replica.
	told int64
}

// placesFor is how long places are believed in without an answer. Redis gives
// them to others a little later.
const placesFor = 12 * time.Second

// free tells whether one more call may be under way.
func (p *places) free(now time.Time) bool {
	p.local.forget(now)
	n := int64(len(p.local.taken))
	return n < p.allowed && (p.told < 0 || n < p.told)
}
