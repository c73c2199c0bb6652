package truth

// dice decides by chance that is always the same: every roll depends on what
// the dice were made from and on the roll's label alone, so that one decision
// never shifts another.
type dice uint64

// label is a roll's name, hashed.
type label uint64

// newDice makes dice for one thing in one seed's world.
func newDice(seed uint64, kind, name string) dice {
	return dice(mix(hash(hash(seed^offset, kind), name)))
}

// of returns the label for a roll.
func of(name string) label { return label(hash(offset, name)) }

// roll returns 64 even bits.
func (d dice) roll(l label) uint64 { return mix(uint64(d) ^ uint64(l)) }

// below returns a number from 0 to n-1.
func (d dice) below(l label, n int) int { return int(d.roll(l) % uint64(n)) }

// share returns a number from 0 up to, not including, 1.
func (d dice) share(l label) float64 { return float64(d.roll(l)>>11) / (1 << 53) }

// pick returns one of the choices.
func pick[T any](d dice, l label, choices []T) T { return choices[d.below(l, len(choices))] }

// The constants of the 64-bit FNV-1a hash.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

// hash goes on with an FNV-1a hash over text and an end mark.
func hash(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return (h ^ 0xff) * prime
}

// mix spreads every bit of x over all 64 (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ID names a subject, or anything else, in this world by 64 even bits that do
// not give it away. It is never 0.
func (w World) ID(name string) uint64 { return max(1, uint64(newDice(w.Seed, "id", name))) }
