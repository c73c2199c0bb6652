package fakevendor

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Latency is how long answers take. The zero Latency is none.
type Latency struct {
	// Median of the time to an answer.
	Median time.Duration `yaml:"median"`
	// Sigma is the spread of a log-normal distribution, the standard deviation
	// of the logarithm; 0: always Median. 0.4 puts P95 at about twice the
	// median.
	Sigma float64 `yaml:"sigma"`
	// Max cuts the tail off; 0: a minute.
	Max time.Duration `yaml:"max"`
}

func (l Latency) validate() error {
	if l.Median < 0 || l.Max < 0 || l.Median > time.Hour || l.Max > time.Hour {
		return fmt.Errorf("latency: median and max are from 0 to 1h")
	}
	if !(l.Sigma >= 0 && l.Sigma <= 5) {
		return fmt.Errorf("latency.sigma: %v is not from 0 to 5", l.Sigma)
	}
	return nil
}

// draw returns one call's latency.
func (l Latency) draw(chance *rand.Rand) time.Duration {
	longest := l.Max
	if longest == 0 {
		longest = time.Minute
	}
	if l.Sigma == 0 {
		return min(l.Median, longest)
	}
	drawn := float64(l.Median) * math.Exp(l.Sigma*chance.NormFloat64())
	return time.Duration(min(drawn, float64(longest)))
}

// wait returns after d, or earlier when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
