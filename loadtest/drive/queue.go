package drive

import "time"

// queue tells how fair a service is to who waits. One that serves whoever comes
// first has nobody overtaken but by a few; a question that it forgot is overtaken
// by all that come later, long before its time is over.
type queue struct {
	began    time.Time // before anybody was asked
	answered []int64   // by the second in which they were asked
	most     int64
}

// answer notes that a question of a moment was answered, and leave that it never
// was; both note how many younger ones were answered before. Younger is what was
// asked a second later or more: those that come together have no order.
func (q *queue) answer(asked time.Time) {
	second := q.leave(asked)
	for len(q.answered) <= second {
		q.answered = append(q.answered, 0)
	}
	q.answered[second]++
}

func (q *queue) leave(asked time.Time) (second int) {
	second = max(int(asked.Sub(q.began)/time.Second), 0)
	var younger int64
	for later := second + 2; later < len(q.answered); later++ {
		younger += q.answered[later]
	}
	q.most = max(q.most, younger)
	return second
}
