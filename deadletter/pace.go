package deadletter

import (
	"context"
	"time"
)

// pace lets so many through a second, evenly.
type pace struct{ ticker *time.Ticker }

// newPace makes one; a rate of 0 or less has no bounds.
func newPace(rate float64) *pace {
	if rate <= 0 {
		return &pace{}
	}
	return &pace{ticker: time.NewTicker(max(time.Duration(float64(time.Second)/rate), time.Microsecond))}
}

func (p *pace) wait(ctx context.Context) error {
	if p.ticker == nil {
		return ctx.Err()
	}
	select {
	case <-p.ticker.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pace) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}
