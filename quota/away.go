package quota

import "time"

// away is what a replica may do while Redis does not answer: go on for a minute
// with four fifths of the calls it had, then nothing until Redis is back.
type away struct {
	since time.Time // zero: Redis answers
	retry time.Time // not to be asked before
	back  time.Time // when it is to be trusted that all replicas have reported
	rate  float64   // calls per second
	due   time.Time // when the next call may begin
	left  int64     // of what long windows had left
	meter meter
}

const (
	// awayFor is how long a replica goes on without Redis.
	awayFor = time.Minute
	// awayPart is the part of its calls with which it goes on.
	awayPart = 0.8
	// awayTrust is how long a Redis that does not answer is expected back at any
	// moment, as after a restart or a failover; later somebody has to look.
	awayTrust = 5 * time.Second
	// awayRetry is how often Redis is tried.
	awayRetry = time.Second
	// awayReport is how long after its return all replicas have told what they
	// did alone. Until then nothing is booked.
	awayReport = awayRetry + redisPatience
)

// begin is told of a failure. fair is the replica's part of what the limits
// allow per second, left its part of what long windows have. Calls without a
// lease begin only when all leases, of other replicas too, are over.
func (a *away) begin(now time.Time, fair float64, left int64, lease time.Duration) {
	a.retry, a.back = now.Add(awayRetry), time.Time{}
	if a.since.IsZero() {
		a.since, a.left, a.due = now, left, now.Add(lease)
		a.rate = awayPart * min(fair, a.meter.perSecond(now))
	}
}

// end is told of an answer, and tells whether it is the first again.
func (a *away) end(now time.Time) bool {
	switch {
	case a.since.IsZero():
	case a.back.IsZero():
		a.retry, a.back = time.Time{}, now.Add(awayReport)
		return true
	case !now.Before(a.back):
		a.since, a.back = time.Time{}, time.Time{}
	}
	return false
}

// resting tells whether Redis is not to be tried yet, books whether calls may
// be booked.
func (a *away) resting(now time.Time) bool { return now.Before(a.retry) }
func (a *away) books(now time.Time) bool   { return !a.resting(now) && !now.Before(a.back) }

// lasts tells whether calls may go on.
func (a *away) lasts(now time.Time) bool {
	return !a.since.IsZero() && now.Sub(a.since) < awayFor && a.rate > 0 && a.left > 0
}

// idle is before when no call can be expected to begin; zero while calls go on.
func (a *away) idle(now time.Time) time.Time {
	switch {
	case a.since.IsZero() || !a.back.IsZero() || a.lasts(now):
		return time.Time{}
	case now.Sub(a.since) < awayTrust:
		return a.retry
	default:
		return now.Add(awayFor)
	}
}

// spend takes one call if one may begin now.
func (a *away) spend(now time.Time) bool {
	if !a.lasts(now) || now.Before(a.due) {
		return false
	}
	a.due = now.Add(time.Duration(float64(time.Second) / a.rate))
	a.left--
	return true
}

// wake is when to look again; never while Redis answers or is being asked.
func (a *away) wake(now time.Time) time.Time {
	wake := never
	if a.lasts(now) && now.Before(a.due) {
		wake = a.due
	}
	if a.resting(now) {
		wake = earliest(wake, a.retry)
	}
	if now.Before(a.back) {
		wake = earliest(wake, a.back)
	}
	return wake
}

// meter counts calls of the last seconds.
type meter struct {
	counts [meterSeconds]int64
	second int64
	began  int64
}

const meterSeconds = 10

func (m *meter) note(now time.Time) {
	m.roll(now)
	m.counts[m.second%meterSeconds]++
}

func (m *meter) roll(now time.Time) {
	second := now.Unix()
	if m.began == 0 || second < m.second || second-m.second >= meterSeconds {
		if m.began == 0 || second-m.second >= 2*meterSeconds {
			m.began = second
		}
		m.counts, m.second = [meterSeconds]int64{}, second
		return
	}
	for m.second < second {
		m.second++
		m.counts[m.second%meterSeconds] = 0
	}
}

// perSecond is the mean of the last seconds.
func (m *meter) perSecond(now time.Time) float64 {
	m.roll(now)
	sum := int64(0)
	for _, n := range m.counts {
		sum += n
	}
	return float64(sum) / float64(min(meterSeconds, max(1, now.Unix()-m.began)))
}
