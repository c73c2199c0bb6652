package quota

import "time"

// lease is calls of one class that were booked ahead: n of them, gap apart from
// start on. One that cannot begin within late of its turn, or before till, is
// lost to us and goes back.
type lease struct {
	units []int64 // what one call takes, per limit
	age   int     // of the limits
	start time.Time
	gap   time.Duration
	n     int64
	late  time.Duration
	till  time.Time // zero: no end of its own
	at    int64     // start by the server's clock, in microseconds
	ends  int64     // when the last call was due at first, by the same clock
}

// rest is the lease without its first call.
func (l lease) rest() lease {
	l.n--
	l.start = l.start.Add(l.gap)
	l.at += l.gap.Microseconds()
	return l
}

// one is the lease's first call alone.
func (l lease) one() lease {
	l.n = 1
	return l
}

// dead tells whether the first call is too late.
func (l lease) dead(now time.Time) bool {
	return now.After(l.start.Add(l.late)) || !l.till.IsZero() && !now.Before(l.till)
}

// last is when the last call is due.
func (l lease) last() time.Time { return l.start.Add(l.gap * time.Duration(l.n-1)) }

// booked is what was booked ahead for one class.
type booked struct {
	leases []lease
	// Nothing can begin before full, as the account last said; not to be asked
	// again before ask.
	full, ask time.Time
	// urgent is when an interactive call may ask again.
	urgent time.Time
	// room is how many calls could begin at once when Redis last answered. It is
	// of interest for a short time only.
	room     int64
	roomTill time.Time
}

// held is how many calls are booked.
func (b *booked) held() (n int64) {
	for _, l := range b.leases {
		n += l.n
	}
	return n
}

// next is when the next booked call is due; never if there is none. Calls that
// are too late are taken out and returned.
func (b *booked) next(now time.Time) (due time.Time, lost []lease) {
	due = never
	kept := b.leases[:0]
	for _, l := range b.leases {
		if l.gap == 0 && l.dead(now) {
			lost, l.n = append(lost, l), 0
		}
		for l.n > 0 && l.dead(now) {
			lost = append(lost, l.one())
			l = l.rest()
		}
		if l.n > 0 {
			kept = append(kept, l)
			if l.start.Before(due) {
				due = l.start
			}
		}
	}
	b.leases = kept
	return due, lost
}

// take takes the call out that is due first.
func (b *booked) take() lease {
	first := 0
	for i, l := range b.leases {
		if l.start.Before(b.leases[first].start) {
			first = i
		}
	}
	one := b.leases[first].one()
	if b.leases[first] = b.leases[first].rest(); b.leases[first].n == 0 {
		b.leases = append(b.leases[:first], b.leases[first+1:]...)
	}
	return one
}

// last is when the last booked call is due; the zero time if there is none.
func (b *booked) last() (last time.Time) {
	for _, l := range b.leases {
		if end := l.last(); end.After(last) {
			last = end
		}
	}
	return last
}
