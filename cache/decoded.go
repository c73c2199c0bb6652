package cache

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"unsafe"

	"github.com/enrichd/enrichd/enrich"
)

// decoded keeps the records of entries that were read lately, so that a subject
// asked for often is decoded once. Memory itself keeps only encoded records:
// decoded ones take several times the room, and the collector must look into
// each.
//
// Every entry has a choice of two slots, one of which the last reader takes
// over.
type decoded struct {
	barriers *barriers // what does not pass is not read
	slots    []atomic.Pointer[reading]
	budget   int64
	held     atomic.Int64 // bytes
}

// reading is an entry and what it says.
type reading struct {
	of     *entry
	under  *map[string]barrier // the barriers then
	record enrich.Record
	size   int64
}

// usualReading is about what a usual record takes decoded.
const usualReading = 4 << 10

// newDecoded keeps about the given number of bytes at most.
func newDecoded(bytes int64, barriers *barriers) *decoded {
	return &decoded{
		barriers: barriers,
		slots:    make([]atomic.Pointer[reading], max(bytes, 0)/usualReading),
		budget:   bytes,
	}
}

// record returns what the entry says and the barriers let pass, which may be
// nothing.
func (d *decoded) record(e *entry) (enrich.Record, error) {
	under := d.barriers.until.Load()
	if len(d.slots) < 2 {
		return d.read(e, under)
	}
	choice := d.choice(e.tag)
	var last [2]*reading
	for i := range last {
		last[i] = choice[i].Load()
		if last[i] != nil && last[i].of == e && last[i].under == under {
			return last[i].record, nil
		}
	}
	record, err := d.read(e, under)
	if err != nil {
		return record, err
	}
	victim := rand.IntN(2)
	if last[0] == nil || last[1] != nil && last[0].of.tag == e.tag {
		victim = 0
	} else if last[1] == nil || last[1].of.tag == e.tag {
		victim = 1
	}
	fresh := &reading{of: e, under: under, record: record, size: readingSize(e, record)}
	grown := fresh.size
	if last[victim] != nil {
		grown -= last[victim].size
	}
	if d.held.Load()+grown <= d.budget && choice[victim].CompareAndSwap(last[victim], fresh) {
		d.held.Add(grown)
	}
	return record, nil
}

// choice are the two slots in which a subject's record may be.
func (d *decoded) choice(t tag) []atomic.Pointer[reading] {
	first := binary.LittleEndian.Uint64(t[8:]) % uint64(len(d.slots)/2) * 2
	return d.slots[first : first+2]
}

// drop forgets what a subject's entry said.
func (d *decoded) drop(t tag) {
	if len(d.slots) < 2 {
		return
	}
	choice := d.choice(t)
	for i := range choice {
		if last := choice[i].Load(); last != nil && last.of.tag == t && choice[i].CompareAndSwap(last, nil) {
			d.held.Add(-last.size)
		}
	}
}

func (d *decoded) read(e *entry, under *map[string]barrier) (enrich.Record, error) {
	record, err := e.record()
	if err != nil || under == nil {
		return record, err
	}
	return record.Keep(d.barriers.passes), nil
}

// tags lists the subjects that were read lately.
func (d *decoded) tags() (tags []tag) {
	for i := range d.slots {
		if last := d.slots[i].Load(); last != nil {
			tags = append(tags, last.of.tag)
		}
	}
	return tags
}

// readingSize counts the entry as well, which memory may have evicted.
func readingSize(e *entry, record enrich.Record) int64 {
	return int64(unsafe.Sizeof(reading{})) + int64(unsafe.Sizeof(entry{})) + int64(len(e.payload)) +
		int64(len(record.Facts()))*int64(unsafe.Sizeof(enrich.Fact{}))
}
