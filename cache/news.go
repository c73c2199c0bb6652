package cache

import (
	"encoding/binary"
	"sync/atomic"
)

// news is what this replica has heard about the entries in Redis: which were
// written, and when it may have missed something. It decides what memory may
// answer without asking Redis.
//
// Messages about a subject mark its entry in memory. A message that was lost
// marks all entries of its group: they are looked at once more before use.
// nil news means that there is nothing to hear about.
type news struct {
	// gaps counts, for each group of subjects, how often something may have
	// been missed. It starts at 1.
	gaps [256]atomic.Uint32
	// written is the newest version heard of among the subjects that share the
	// place. It only serves to notice a message that overtook a reading.
	written [4096]atomic.Uint64
}

// moment is a point in what is heard about a subject. The zero moment is
// before all others.
type moment struct {
	gaps    uint32
	written uint64
}

func (m moment) before(other moment) bool {
	return m.gaps < other.gaps || m.gaps == other.gaps && m.written < other.written
}

func newNews() *news {
	n := &news{}
	for group := range n.gaps {
		n.gaps[group].Store(1)
	}
	return n
}

// now is the moment to note before Redis is asked about a subject.
func (n *news) now(t tag) moment {
	return moment{gaps: n.gaps[t[0]].Load(), written: n.place(t).Load()}
}

// current tells whether nothing was missed since the entry was looked at.
func (n *news) current(e *entry) bool { return e.asOf.gaps == n.gaps[e.tag[0]].Load() }

// overtook tells whether Redis may have taken a newer version than the entry's
// while it was on its way here.
func (n *news) overtook(e *entry) bool {
	if n == nil {
		return false
	}
	written := n.place(e.tag).Load()
	return written != e.asOf.written && written > e.version
}

// heard notes that Redis took a version of a subject's entry.
func (n *news) heard(t tag, version uint64) {
	place := n.place(t)
	for {
		last := place.Load()
		if version <= last || place.CompareAndSwap(last, version) {
			return
		}
	}
}

// missed notes that messages of a group may have been lost.
func (n *news) missed(group byte) { n.gaps[group].Add(1) }

// missedAll notes that messages of any group may have been lost.
func (n *news) missedAll() {
	for group := range n.gaps {
		n.missed(byte(group))
	}
}

func (n *news) place(t tag) *atomic.Uint64 {
	return &n.written[binary.LittleEndian.Uint16(t[16:])%uint16(len(n.written))]
}
