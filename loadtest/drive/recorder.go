package drive

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Point is what one second brought. Latencies are in seconds, 0 when nothing
// was answered.
type Point struct {
	At       int     `json:"at"` // seconds since the load began
	Answered int64   `json:"answered"`
	Failed   int64   `json:"failed"`
	P50      float64 `json:"p50"`
	P95      float64 `json:"p95"`
	P99      float64 `json:"p99"`
}

// Latencies are counted from the intended start, in seconds. Those of questions
// that were left unanswered are in it, too: they took that long at least.
type Latencies struct {
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Tally is what a Recorder has counted.
type Tally struct {
	Asked    int64            `json:"asked"`
	Answered int64            `json:"answered"`
	Codes    map[string]int64 `json:"codes"` // of all answers
	Tiers    map[string]int64 `json:"tiers"` // of those with a fact
	Outcomes map[string]int64 `json:"outcomes"`
	Calls    int64            `json:"calls"` // vendor calls, as the service tells them
	// Delayed is how many of those asked began more than 10 ms after their time,
	// and LongestDelay by how much at most, in seconds.
	Delayed      int64   `json:"delayed"`
	LongestDelay float64 `json:"longest_delay"`
	// Overtaken is how many younger questions were answered before one that had
	// to wait, at most. Younger is what was asked a second later or more.
	Overtaken int64 `json:"overtaken"`
	Latencies
}

// Failed is how many questions got an error.
func (t Tally) Failed() (failed int64) {
	for code, n := range t.Codes {
		if code != "OK" {
			failed += n
		}
	}
	return failed
}

// Recorder counts answers and their latencies. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	tally   Tally
	all     *hdrhistogram.Histogram // microseconds
	second  *hdrhistogram.Histogram
	queue   queue
	current Point
}

// longestLatency is the most that is told apart, in microseconds.
const longestLatency = int64(time.Hour / time.Microsecond)

// NewRecorder returns an empty one, of questions from now on.
func NewRecorder() *Recorder {
	return &Recorder{
		tally:  Tally{Codes: map[string]int64{}, Tiers: map[string]int64{}, Outcomes: map[string]int64{}},
		all:    hdrhistogram.New(1, longestLatency, 3),
		second: hdrhistogram.New(1, longestLatency, 3),
		queue:  queue{began: time.Now()},
	}
}

// punctual is how long after its time a question may begin: timers and the
// scheduler of a busy machine take some milliseconds.
const punctual = 10 * time.Millisecond

// Ask counts a question that is asked so long after its time.
func (r *Recorder) Ask(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.Asked++
	if delay > punctual {
		r.tally.Delayed++
		r.tally.LongestDelay = max(r.tally.LongestDelay, delay.Seconds())
	}
}

// Answer counts an answer that came at now to a question that ought to have
// been asked at intended. Latencies are those of answers, not of failures.
func (r *Recorder) Answer(answer Answer, intended, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.Codes[answer.Code]++
	if !answer.OK() {
		r.current.Failed++
		return
	}
	r.tally.Answered++
	r.current.Answered++
	r.tally.Outcomes[answer.Outcome]++
	r.tally.Calls += int64(answer.Calls)
	if answer.Tier != "" {
		r.tally.Tiers[answer.Tier]++
	}
	r.queue.answer(intended)
	latency := microseconds(now.Sub(intended))
	_ = r.all.RecordValue(latency)
	_ = r.second.RecordValue(latency)
}

// Leave notes how long a question had waited that was still under way at the
// end: a service that stalls must not look fast by the few that it answered.
func (r *Recorder) Leave(intended, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue.leave(intended)
	_ = r.all.RecordValue(microseconds(now.Sub(intended)))
}

func microseconds(latency time.Duration) int64 {
	return min(max(latency.Microseconds(), 1), longestLatency)
}

// Turn ends a second and returns what it brought.
func (r *Recorder) Turn(at int) Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	point := r.current
	point.At = at
	point.P50, point.P95, point.P99 = quantile(r.second, 50), quantile(r.second, 95), quantile(r.second, 99)
	r.current = Point{}
	r.second.Reset()
	return point
}

// Tally returns what has been counted so far.
func (r *Recorder) Tally() Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	tally := r.tally
	tally.Codes, tally.Tiers, tally.Outcomes = maps.Clone(tally.Codes), maps.Clone(tally.Tiers), maps.Clone(tally.Outcomes)
	tally.Overtaken = r.queue.most
	tally.Latencies = Latencies{
		P50: quantile(r.all, 50), P95: quantile(r.all, 95), P99: quantile(r.all, 99), P999: quantile(r.all, 99.9),
		Max: float64(r.all.Max()) / 1e6, Mean: r.all.Mean() / 1e6,
	}
	return tally
}

func quantile(h *hdrhistogram.Histogram, percent float64) float64 {
	if h.TotalCount() == 0 {
		return 0
	}
	return float64(h.ValueAtQuantile(percent)) / 1e6
}
