package idempotency

import (
	"container/list"
	"sync"
	"time"
)

// entryBytes is what an answer takes beside its own bytes, about.
const entryBytes = 512

// kept is an answer in memory.
type kept struct {
	id     id
	mark   mark
	answer []byte
	about  []tag
	until  time.Time
}

func (k *kept) size() int { return entryBytes + len(k.answer) + 3*len(tag{})*len(k.about) }

// memory keeps answers in the process, the newest that fit. It is safe for
// concurrent use.
type memory struct {
	most int

	mu    sync.Mutex
	bytes int
	order *list.List // of *kept, the first to end first
	byID  map[id]*list.Element
	about map[tag]map[id]struct{}
}

func newMemory(most int) *memory {
	return &memory{most: most, order: list.New(), byID: map[id]*list.Element{}, about: map[tag]map[id]struct{}{}}
}

func (m *memory) get(of id) (*kept, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tidy(time.Now())
	element, ok := m.byID[of]
	if !ok {
		return nil, false
	}
	return element.Value.(*kept), true
}

// put keeps an answer. All are kept for the same time, so the last is the last
// to end.
func (m *memory) put(k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(k.id)
	m.byID[k.id] = m.order.PushBack(k)
	m.bytes += k.size()
	for _, t := range k.about {
		if m.about[t] == nil {
			m.about[t] = map[id]struct{}{}
		}
		m.about[t][k.id] = struct{}{}
	}
	m.tidy(time.Now())
}

// tidy drops what has ended and what does not fit, under the lock.
func (m *memory) tidy(now time.Time) {
	for first := m.order.Front(); first != nil; first = m.order.Front() {
		k := first.Value.(*kept)
		if now.Before(k.until) && m.bytes <= m.most {
			return
		}
		m.drop(k.id)
	}
}

func (m *memory) forget(of id) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(of)
}

// drop forgets an id, under the lock.
func (m *memory) drop(of id) {
	element, ok := m.byID[of]
	if !ok {
		return
	}
	k := m.order.Remove(element).(*kept)
	delete(m.byID, of)
	m.bytes -= k.size()
	for _, t := range k.about {
		delete(m.about[t], of)
		if len(m.about[t]) == 0 {
			delete(m.about, t)
		}
	}
}

// erase drops all answers about a subject and returns how many there were.
func (m *memory) erase(t tag) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	dropped := len(m.about[t])
	for of := range m.about[t] {
		m.drop(of)
	}
	return dropped
}
