package enrich

import "encoding/binary"

// PlaceOf returns the attribute's place in the contract's order, that of
// [Attributes]; -1 if the contract has none of that name. A map takes three times
// as long, and every attribute of an answer is looked up some eight times: maps
// were a twentieth of a Redis hit.
func PlaceOf(a Attribute) int {
	if len(a) < 8 {
		return -1
	}
	place := places.slots[places.slot(a)]
	if place == 0 || contract[place-1].Attribute != a {
		return -1
	}
	return int(place) - 1
}

// places has a slot for each attribute of the contract, all different.
var places = func() slots {
	var names []Attribute
	for _, spec := range contract {
		names = append(names, spec.Attribute)
	}
	found, ok := newSlots(names)
	if !ok {
		panic("enrich: two attributes of the contract have the same length and the same end, or there are too many for slotBits")
	}
	return found
}()

// slots are found by the ends of names, multiplied by a factor with which no two
// share one.
type slots struct {
	factor uint64
	slots  [1 << slotBits]uint8 // 1 and the place; 0: none
}

const (
	slotBits = 9
	// mostFactors is how many are tried; 32 attributes need three on average.
	mostFactors = 1 << 16
)

// newSlots is false when two of the names share a slot whatever the factor.
func newSlots(names []Attribute) (p slots, ok bool) {
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio, which spreads well
	for try := range uint64(mostFactors) {
		p = slots{factor: golden * (2*try + 1)}
		if p.place(names) {
			return p, true
		}
	}
	return slots{}, false
}

// place gives each name its slot, and is false when two share one.
func (p *slots) place(names []Attribute) bool {
	for i, name := range names {
		slot := &p.slots[p.slot(name)]
		if *slot != 0 {
			return false
		}
		*slot = uint8(i + 1)
	}
	return true
}

func (p *slots) slot(a Attribute) uint64 {
	var end [8]byte
	copy(end[:], a[len(a)-8:])
	return (binary.LittleEndian.Uint64(end[:]) + uint64(len(a))) * p.factor >> (64 - slotBits)
}
