package strict

import (
	"slices"
	"time"
)

// ban remembers the newest offences and until when they keep the account out.
type ban struct {
	Ban
	until    time.Time
	offended []time.Time // a ring of the newest After; zero: not yet used
	next     int
}

func newBan(b Ban) *ban {
	if len(b.On) == 0 {
		b.On = []string{"rate_limited"}
	}
	return &ban{Ban: b, offended: make([]time.Time, b.After)}
}

// offend books one offence and begins the ban when it is one too many. The
// offences that brought a ban are spent with it.
func (b *ban) offend(offence string, now time.Time) {
	if !slices.Contains(b.On, offence) || now.Before(b.until) {
		return
	}
	b.offended[b.next] = now
	b.next = (b.next + 1) % len(b.offended)
	if oldest := b.offended[b.next]; !oldest.IsZero() && now.Sub(oldest) < b.Within {
		b.until = now.Add(b.For)
		clear(b.offended)
	}
}
