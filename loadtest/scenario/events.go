package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/providers/fakevendor"
)

func (e Event) problems(s *Scenario) (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if e.At < 0 || e.At >= s.Length {
		problem("at: %s is not within the length", e.At)
	}
	if !slices.Contains(Deeds, e.Do) {
		problem("do: %q is none of: %s", e.Do, strings.Join(Deeds, ", "))
	}
	if strings.HasSuffix(e.Do, " replica") && (e.Replica < 1 || e.Replica > s.Replicas) {
		problem("replica: there is no replica %d", e.Replica)
	}
	if strings.HasSuffix(e.Do, " redis") && !s.Redis {
		problem("do: there is no redis")
	}
	if e.Do != "change vendor" {
		return problems
	}
	at := slices.IndexFunc(s.Vendors, func(v Vendor) bool { return v.Name == e.Vendor })
	switch {
	case at < 0:
		problem("vendor: there is no vendor %q", e.Vendor)
	case e.Faults == nil && e.Limits == nil && e.Data == nil:
		problem("do: change vendor needs faults, limits or data")
	default:
		changed := fakevendor.Config{Vendors: map[string]fakevendor.Vendor{e.Vendor: e.changed(s.Vendors[at].Fake)}}
		if err := changed.Validate(); err != nil {
			problem("%w", err)
		}
	}
	return problems
}

// startsOfWhatRuns finds starts of replicas and of Redis that no event before
// them has ended. They could not happen.
func (s *Scenario) startsOfWhatRuns() (problems []error) {
	inOrder := slices.Clone(s.Events)
	slices.SortStableFunc(inOrder, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	redisAway, replicasAway := false, map[int]bool{}
	for _, e := range inOrder {
		runs := false
		switch e.Do {
		case "kill redis":
			redisAway = true
		case "start redis":
			runs, redisAway = !redisAway, false
		case "kill replica", "stop replica":
			replicasAway[e.Replica] = true
		case "start replica":
			runs, replicasAway[e.Replica] = !replicasAway[e.Replica], false
		case "restart replicas":
			clear(replicasAway)
		}
		if runs {
			problems = append(problems, fmt.Errorf("events: %s at %s: it runs already", e.What(), e.At))
		}
	}
	return problems
}

// changed is how the vendor behaves after the event.
func (e Event) changed(fake fakevendor.Vendor) fakevendor.Vendor {
	if e.Faults != nil {
		fake.Faults = *e.Faults
	}
	if e.Limits != nil {
		fake.Limits = *e.Limits
	}
	if e.Data != nil {
		fake.Data = e.Data
	}
	return fake
}
