package router

import "sync"

// mostRetries is how many repeats a provider may have in hand, and has at the
// start.
const mostRetries = 10

// retryBudget keeps the repeats of failed calls of one provider to a ratio of
// its first calls, so that trouble is not multiplied. Safe for concurrent use.
type retryBudget struct {
	mu    sync.Mutex
	ratio float64
	left  float64
}

// newRetryBudget makes a budget; a negative ratio allows no repeat.
func newRetryBudget(ratio float64) *retryBudget {
	b := &retryBudget{left: mostRetries}
	b.apply(ratio)
	return b
}

// apply changes the ratio; what is in hand stays.
func (b *retryBudget) apply(ratio float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ratio = max(ratio, 0)
	if ratio < 0 {
		b.left = 0
	}
}

// firstCall adds a first call's share.
func (b *retryBudget) firstCall() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.left+b.ratio, mostRetries)
}

// take spends a repeat and returns false if none is left.
func (b *retryBudget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// putBack returns a repeat that was not made.
func (b *retryBudget) putBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.left+1, mostRetries)
}
