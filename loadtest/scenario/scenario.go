// Package scenario reads what a load test does: which fleet runs, what it is
// asked, what happens to it meanwhile, and what must come out.
package scenario

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// Scenario is one load test.
type Scenario struct {
	// Name of its file, without the ending.
	Name string `yaml:"-"`
	// About says in a sentence or two what happens and what ought to come out.
	About string `yaml:"about"`
	// Length of the load. It ends earlier when all traffic has asked for all its
	// leads.
	Length time.Duration `yaml:"length"`
	// Replicas of enrichd; 0: 1.
	Replicas int `yaml:"replicas"`
	// Redis starts one that all replicas share.
	Redis bool `yaml:"redis"`
	// Service is laid over the configuration of every replica.
	Service map[string]any `yaml:"service"`
	// Vendors in the order in which they are asked.
	Vendors []Vendor `yaml:"vendors"`
	// Traffic that runs side by side.
	Traffic []Traffic `yaml:"traffic"`
	// Events in any order.
	Events []Event `yaml:"events"`
	// SLO lists what must hold, as lines such as "refused_per_10k <= 5".
	SLO []string `yaml:"slo"`
	// Target is a service of one's own. With it no fleet is started, and there
	// are no events.
	Target *Target `yaml:"target"`
}

// Vendor is one fake vendor and the service's entry for it.
type Vendor struct {
	// Name of the provider, and of the definition and dialect.
	Name string `yaml:"name"`
	// Fake is how the vendor behaves.
	Fake fakevendor.Vendor `yaml:"fake"`
	// Provider is laid over the service's entry. Limits are told to the service
	// as the vendor holds them unless they are written here.
	Provider map[string]any `yaml:"provider"`
}

// Definition is the name of the definition that reads the vendor.
func (v Vendor) Definition() string { return cmp.Or(v.Fake.Dialect, v.Name) }

// Traffic is one kind of caller.
type Traffic struct {
	// Name in figures and charts.
	Name string `yaml:"name"`
	// Via is grpc (the default), rest, batch or stream.
	Via string `yaml:"via"`
	// Lane of its questions; empty: the service's default.
	Lane string `yaml:"lane"`
	// Account that asks; empty: none, and no key is sent.
	Account string `yaml:"account"`
	// Fields that are asked for; empty: all.
	Fields []string `yaml:"fields"`
	// Budget of a question; 0: the service's.
	Budget time.Duration `yaml:"budget"`
	// Purpose that its questions name; empty: none.
	Purpose string `yaml:"purpose"`
	// Workload says whom it asks for.
	Workload Workload `yaml:"workload"`
	// Rate of leads a second begins them at fixed times, whatever the answers
	// do (an open loop). 0: Workers ask one after the other (a closed loop).
	Rate float64 `yaml:"rate"`
	// Clump is how many leads of an open loop come at the same moment; 0: 1.
	Clump int `yaml:"clump"`
	// Workers of a closed loop, or the most that are under way in an open one;
	// 0: 64, or 10,000.
	Workers int `yaml:"workers"`
	// Batch is how many leads one exchange asks for, for batch and stream; 0:
	// 100.
	Batch int `yaml:"batch"`
	// Leads is how many are asked for; 0: as many as there is time for.
	Leads int64 `yaml:"leads"`
	// From and Until are when it asks; Until 0: to the end.
	From  time.Duration `yaml:"from"`
	Until time.Duration `yaml:"until"`
	// Replicas that it enters at, from 1; empty: all in turn.
	Replicas []int `yaml:"replicas"`
}

// Workload says whom a traffic asks for.
type Workload struct {
	// Kind is fresh (every lead is a new one, the default), zipf (some people
	// are asked for far more often than others), same (one person), or csv.
	Kind string `yaml:"kind"`
	// People of zipf.
	People int `yaml:"people"`
	// Skew of zipf, above 1; 0: 1.1.
	Skew float64 `yaml:"skew"`
	// File of csv, and the Column that holds addresses; empty: one with a usual
	// name, such as "email".
	File   string `yaml:"file"`
	Column string `yaml:"column"`
}

// Event is something that happens at a moment.
type Event struct {
	At time.Duration `yaml:"at"`
	// Do is one of Deeds.
	Do string `yaml:"do"`
	// Replica that it happens to, from 1.
	Replica int `yaml:"replica"`
	// Vendor that changes, and how.
	Vendor string             `yaml:"vendor"`
	Faults *fakevendor.Faults `yaml:"faults"`
	Limits *fakevendor.Limits `yaml:"limits"`
	Data   *fakevendor.Data   `yaml:"data"`
	// Service is laid over the configuration before a reload.
	Service map[string]any `yaml:"service"`
}

// Deeds are what events do.
var Deeds = []string{
	"freeze redis", "thaw redis", "kill redis", "start redis",
	"kill replica", "stop replica", "start replica",
	"restart replicas", // one after the other, as a rolling update does
	"reload replicas",
	"change vendor",
}

// What says in a few words what happens.
func (e Event) What() string {
	switch {
	case e.Replica > 0:
		return fmt.Sprintf("%s %d", e.Do, e.Replica)
	case e.Vendor == "":
		return e.Do
	}
	var changed []string
	if e.Faults != nil {
		changed = append(changed, faults(e.Faults.Rules))
	}
	if e.Limits != nil {
		changed = append(changed, limits(e.Limits.Rules))
	}
	if e.Data != nil {
		changed = append(changed, "other data")
	}
	return e.Vendor + ": " + strings.Join(changed, ", ")
}

// faults says which ones begin, and for how long.
func faults(rules []fakevendor.Fault) string {
	var all []string
	for _, rule := range rules {
		text := string(rule.Kind)
		if rule.Share > 0 {
			text += fmt.Sprintf(" of %.0f%%", 100*rule.Share)
		}
		if rule.From > 0 {
			text += fmt.Sprintf(" after %s", rule.From)
		}
		if rule.Until > 0 {
			text += fmt.Sprintf(" for %s", rule.Until-rule.From)
		}
		if rule.Every > 0 {
			text += fmt.Sprintf(" every %s", rule.Every)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "no faults"
	}
	return strings.Join(all, ", ")
}

// limits says which ones hold from now on.
func limits(rules []strict.Limit) string {
	var all []string
	for _, rule := range rules {
		text := fmt.Sprintf("%s of %d", rule.Shape, rule.Amount)
		if rule.Window > 0 {
			text += fmt.Sprintf(" per %s", rule.Window)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "no limits"
	}
	return "limits: " + strings.Join(all, ", ")
}
