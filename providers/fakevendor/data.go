package fakevendor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// Data is what a fake vendor knows and how long it thinks.
type Data struct {
	truth.Knowledge `yaml:",inline"`
	// Pending is for dialects whose answers may come later.
	Pending Pending `yaml:"pending"`
}

// Pending is how a dialect that answers later does so. Of no effect on others.
type Pending struct {
	// Share of look-ups that are not answered at once, from 0 to 1, where the
	// vendor may do either; a dialect that always makes a job does so anyway.
	Share float64 `yaml:"share"`
	// For is how long a job takes, half as long to one and a half times as
	// long; 0: what is usual for the vendor.
	For time.Duration `yaml:"for"`
	// Never makes jobs that are never done.
	Never bool `yaml:"never"`
	// MinPoll is the shortest interval between two polls of one job; sooner
	// ones are refused as rate limited. 0: any.
	MinPoll time.Duration `yaml:"min_poll"`
	// KeptFor is how long after its end a job can be read; 0: 30 days.
	KeptFor time.Duration `yaml:"kept_for"`
}

func (d Data) validate() error {
	var problems []error
	share := func(name string, value float64) {
		if !(value >= 0 && value <= 1) {
			problems = append(problems, fmt.Errorf("%s: %v is not from 0 to 1", name, value))
		}
	}
	share("miss", d.Miss)
	share("partial", d.Partial)
	share("suppressed", d.Suppressed)
	share("gaps", d.Gaps)
	share("pending.share", d.Pending.Share)
	known := truth.Attributes()
	for attribute, gaps := range d.Attributes {
		share("attributes."+attribute, gaps)
		if !slices.Contains(known, attribute) {
			problems = append(problems, fmt.Errorf("attributes: %q is no attribute", attribute))
		}
	}
	for name, span := range map[string]time.Duration{"for": d.Pending.For, "min_poll": d.Pending.MinPoll, "kept_for": d.Pending.KeptFor} {
		if span < 0 || span > 366*24*time.Hour {
			problems = append(problems, fmt.Errorf("pending.%s: %s is not from 0 to a year", name, span))
		}
	}
	return errors.Join(problems...)
}
