package enrich

import (
	"encoding/binary"
	"slices"
)

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
var places = func() (p slots) {
	taken := func(spec Spec) bool {
		slot := &p.slots[p.slot(spec.Attribute)]
		before := *slot
		*slot = 1 + uint8(slices.IndexFunc(contract, func(other Spec) bool { return other.Attribute == spec.Attribute }))
		return before != 0
	}
	golden := uint64(0x9e3779b97f4a7c15) // 2^64 over the golden ratio, which spreads well
	for p.factor = golden; ; p.factor += 2 * golden {
		p.slots = [len(p.slots)]uint8{}
		if !slices.ContainsFunc(contract, taken) {
			return p
		}
	}
}()

// slots are found by the ends of names, multiplied by a factor with which no two
// share one.
type slots struct {
	factor uint64
	slots  [1 << slotBits]uint8 // 1 and the place; 0: none
}

const slotBits = 9

func (p *slots) slot(a Attribute) uint64 {
	var end [8]byte
	copy(end[:], a[len(a)-8:])
	return (binary.LittleEndian.Uint64(end[:]) + uint64(len(a))) * p.factor >> (64 - slotBits)
}
