package quota

import "time"

// class is calls that take the same from every limit.
type class struct {
	classKey
	queues [lanes]*queue
	age    int // how often the limits had changed when what follows was found

	uses   []use   // of a local source
	units  []int64 // of a shared source
	timed  bool    // it takes from limits that are no concurrency
	booked booked
}

type classKey struct {
	operation string
	entities  int64
}

// waiting is how many callers wait for calls of the class.
func (c *class) waiting() (n int64) {
	for place := range c.queues {
		n += c.waitingIn(place)
	}
	return n
}

func (c *class) waitingIn(place int) int64 {
	if q := c.queues[place]; q != nil {
		return int64(q.waiting)
	}
	return 0
}

// spent is what one call took.
type spent struct {
	at    time.Time
	uses  []use  // of a local source
	class *class // of a shared source
	lease lease
}

// due is when the call was to leave.
func (s spent) due() time.Time {
	if s.lease.n > 0 {
		return s.lease.start
	}
	return s.at
}
