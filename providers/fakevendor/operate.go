package fakevendor

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// vendorOf returns a vendor by its name.
func (s *Server) vendorOf(name string) (*vendor, error) {
	if v, ok := s.vendors[name]; ok {
		return v, nil
	}
	return nil, fmt.Errorf("no fake vendor %q; there are: %s", name, strings.Join(s.Vendors(), ", "))
}

// SetFaults replaces how a vendor misbehaves, from now on: the times of the
// rules count from this moment. An error means that nothing changed.
func (s *Server) SetFaults(name string, faults Faults) error {
	return s.change(name, func(v *vendor, set *settings) error {
		set.Faults, set.faulty = faults, nil
		return within("faults", faults.validate(v.dialect))
	})
}

// SetLimits replaces a vendor's limits. They begin fresh: what was used of the
// old ones is forgotten, and bans with it. An error means that nothing changed.
func (s *Server) SetLimits(name string, limits Limits) error {
	return s.change(name, func(v *vendor, set *settings) error {
		set.Limits, set.callers = limits, nil
		return within("limits", limits.validate(v.dialect))
	})
}

// SetData replaces what a vendor knows. An error means that nothing changed.
func (s *Server) SetData(name string, data Data) error {
	return s.change(name, func(_ *vendor, set *settings) error {
		set.Data = data
		return within("data", data.validate())
	})
}

// SetAccount replaces a vendor's keys and prices, fills its credits up, and
// begins its limits anew. An error means that nothing changed.
func (s *Server) SetAccount(name string, account Account) error {
	err := s.change(name, func(v *vendor, set *settings) error {
		set.Account, set.callers = account, nil
		return within("account", account.validate(v.dialect))
	})
	if err == nil {
		s.vendors[name].purse.fill(account.Credits)
	}
	return err
}

// change replaces a vendor's settings by what edit makes of a copy.
func (s *Server) change(name string, edit func(*vendor, *settings) error) error {
	v, err := s.vendorOf(name)
	if err != nil {
		return err
	}
	v.changing.Lock()
	defer v.changing.Unlock()
	set := *v.settings.Load()
	if err := edit(v, &set); err != nil {
		return err
	}
	return v.install(set)
}

// Reset says what of a vendor begins anew.
type Reset struct {
	// Vendors by name; empty: all.
	Vendors []string `yaml:"vendors"`
	// Ledger drops entries and counters.
	Ledger bool `yaml:"ledger"`
	// Limits begin fresh, and bans end.
	Limits bool `yaml:"limits"`
	// Credits are filled up, and nothing has been paid for.
	Credits bool `yaml:"credits"`
	// Jobs are forgotten.
	Jobs bool `yaml:"jobs"`
	// Faults begin their schedule again.
	Faults bool `yaml:"faults"`
}

// Reset begins the chosen parts anew. An error means that nothing changed.
func (s *Server) Reset(reset Reset) error {
	if !reset.Ledger && !reset.Limits && !reset.Credits && !reset.Jobs && !reset.Faults {
		return errors.New("reset: choose some of ledger, limits, credits, jobs and faults")
	}
	names := reset.Vendors
	if len(names) == 0 {
		names = s.Vendors()
	}
	for _, name := range names {
		if _, err := s.vendorOf(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := s.vendors[name].reset(reset); err != nil {
			return err
		}
	}
	return nil
}

func (v *vendor) reset(reset Reset) error {
	v.changing.Lock()
	defer v.changing.Unlock()
	set := *v.settings.Load()
	if reset.Ledger {
		v.ledger.reset()
	}
	if reset.Credits {
		v.purse.fill(set.Account.Credits)
	}
	if reset.Jobs {
		v.jobs.forget()
	}
	if reset.Limits {
		set.callers = nil
	}
	if reset.Faults {
		set.faulty = nil
	}
	return v.install(set)
}

// Summary returns a vendor's counters; the zero Summary for an unknown vendor.
func (s *Server) Summary(vendor string) Summary {
	if v, ok := s.vendors[vendor]; ok {
		return v.ledger.summary()
	}
	return Summary{}
}

// Ledger returns up to limit of a vendor's kept entries whose Seq is above
// after, oldest first.
func (s *Server) Ledger(vendor string, after uint64, limit int) []Entry {
	if v, ok := s.vendors[vendor]; ok {
		return v.ledger.entries(after, limit)
	}
	return nil
}

// SubjectID returns the name under which the ledger knows an address or domain.
func (s *Server) SubjectID(subject string) string {
	return subjectText(subjectID(s.world.Seed, truth.Fold(subject)))
}

// Truth returns what is true about an address or a domain, as the contract's
// attributes in the contract's form; empty values are left out. Vendors may
// know less, never something else.
func (s *Server) Truth(subject string) map[string]any {
	if truth.DomainOf(subject) == "" {
		return s.world.Company(subject).Attributes()
	}
	p, exists := s.world.Person(subject)
	if !exists {
		return map[string]any{"person.email_status": p.EmailStatus}
	}
	facts := p.Attributes()
	if !truth.FreeMail(truth.DomainOf(truth.Fold(subject))) {
		maps.Copy(facts, p.Employer.Attributes())
	}
	return facts
}

// Knows tells whether a vendor knows the person of an address or the owner of
// a domain, for tests that need a hit or a miss.
func (s *Server) Knows(vendor, subject string) bool { return s.Known(vendor, subject) != nil }

// Known returns what a vendor knows about the person of an address or the owner
// of a domain, as Truth tells it; nil when it does not know them.
func (s *Server) Known(vendor, subject string) map[string]any {
	v, ok := s.vendors[vendor]
	if !ok {
		return nil
	}
	knowledge := v.settings.Load().Data.Knowledge
	var facts map[string]any
	var found truth.Found
	if truth.DomainOf(subject) == "" {
		var company truth.Company
		company, found = s.world.CompanyAt(v.dialect.name, knowledge, subject)
		facts = company.Attributes()
	} else {
		var person truth.Person
		person, found = s.world.PersonAt(v.dialect.name, knowledge, subject)
		facts = person.Attributes()
	}
	if found != truth.Thin && found != truth.Full {
		return nil
	}
	return facts
}
