package enrich

import (
	"crypto/sha256"
	"encoding/binary"
)

// About returns the account as it is for one subject: with the plan of its trial
// where the subject is one of the trial's, else with its own.
func (a Account) About(subject Subject) Account {
	if a.Trial.holds(subject) {
		a.Plan = a.Trial.Plan
	}
	return a
}

// holds tells whether a subject is in the trial's share. It is the same at every
// replica and on every day, and a larger Percent keeps those of a smaller.
func (t Trial) holds(subject Subject) bool {
	if t.Percent <= 0 {
		return false
	}
	// The plan's name in the sum has other subjects try another plan.
	sum := sha256.Sum256([]byte(t.Plan + "\x00" + subject.Key().Reveal()))
	return binary.BigEndian.Uint64(sum[:])%100 < uint64(t.Percent)
}
