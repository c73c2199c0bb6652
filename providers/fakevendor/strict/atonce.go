package strict

import "time"

// atOnce counts the calls under way.
type atOnce struct {
	most, under int64
}

func (a *atOnce) ready(now time.Time, n int64) time.Time {
	if n <= a.most-a.under {
		return now
	}
	return time.Time{}
}

func (a *atOnce) take(_ time.Time, n int64) { a.under += n }

func (a *atOnce) release(n int64) { a.under -= n }

func (a *atOnce) left(time.Time) (int64, time.Time) { return a.most - a.under, time.Time{} }
