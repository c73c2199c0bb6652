package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/workload"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/providers/engine"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// knowledge is what is known about leads, to compare answers with.
type knowledge interface {
	// expected are the attributes that were asked for and that can be told of the
	// lead, and whether one is sure to. Without fields everything was asked for.
	expected(email string, fields []string) map[string]bool
	// compare tells whether there was anything to compare what was told of the
	// lead with, and whether any of it is not true.
	compare(email string, told map[string]string) (compared, wrong bool)
}

// world is what is true, and what the fake vendors know of it.
type world interface {
	Truth(subject string) map[string]any
	Known(vendor, subject string) map[string]any
}

// oracle knows what can be told about a lead.
type oracle struct {
	world

	vendors []supplier
}

// supplier is a vendor as its definition reads it.
type supplier struct {
	name, definition string
	// person and company are the attributes that calls for a person, and calls
	// for a company, are made to get.
	person, company []string
}

// newOracle takes a world's vendors by the names of their definitions.
func newOracle(w world, definitions map[string]string) (*oracle, error) {
	o := &oracle{world: w}
	library := providers.NewLibrary("")
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		definition, err := library.Load(definitions[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s := supplier{name: name, definition: definition.Name}
		scope := &engine.Scope{Settings: definition.Settings()}
		for _, call := range definition.Calls() {
			if !call.Offered(scope) {
				continue
			}
			for _, attribute := range call.Supplies() {
				switch path := string(attribute); {
				case call.Kind == enrich.Person && strings.HasPrefix(path, "person."):
					s.person = append(s.person, path)
				case call.Kind == enrich.Company && strings.HasPrefix(path, "company."):
					s.company = append(s.company, path)
				}
			}
		}
		o.vendors = append(o.vendors, s)
	}
	return o, nil
}

// expected are the attributes that any vendor can tell.
func (o *oracle) expected(email string, fields []string) map[string]bool {
	domain, _ := o.Truth(email)["company.domain"].(string) // none where mail is free
	all := map[string]bool{}
	for _, vendor := range o.vendors {
		for _, of := range []struct {
			subject  string
			supplied []string
		}{{email, vendor.person}, {domain, vendor.company}} {
			known := o.Known(vendor.name, of.subject)
			for _, path := range of.supplied {
				if _, has := known[path]; has && wanted(path, fields) {
					all[path] = all[path] || !fakevendor.Untold(vendor.definition, path)
				}
			}
		}
	}
	return all
}

// wanted tells whether fields name an attribute or what it is a part of.
func wanted(path string, fields []string) bool {
	names := func(field string) bool { return path == field || strings.HasPrefix(path, field+".") }
	return len(fields) == 0 || slices.ContainsFunc(fields, names)
}

// spelt tells whether some vendor spells an attribute in a way of its own, or
// has no word for what is true of it.
func spelt(path string, truth map[string]any) bool {
	switch path {
	case "person.region":
		return true
	case "person.email_status": // verifiers must say something
		return truth[path] == "role" || truth[path] == "disposable"
	}
	return false
}

// compare finds what no vendor can have said: they know less than the truth,
// never something else.
func (o *oracle) compare(email string, told map[string]string) (compared, wrong bool) {
	truth := o.Truth(email)
	for path, value := range told {
		if !spelt(path, truth) && text(truth[path]) != value {
			return true, true
		}
	}
	return true, false
}

// text writes a true value as enrich.Spec does the value of a response.
func text(value any) string {
	if list, ok := value.([]string); ok {
		return strings.Join(list, ";")
	}
	return fmt.Sprint(value)
}

// filed is what the file with the leads says of them. Of what it leaves empty it
// knows nothing.
type filed struct{ *workload.Facts }

func (f filed) expected(email string, fields []string) map[string]bool {
	all := map[string]bool{}
	for path := range f.Of(email) {
		if wanted(path, fields) {
			all[path] = true
		}
	}
	return all
}

func (f filed) compare(email string, told map[string]string) (compared, wrong bool) {
	for path, value := range f.Of(email) {
		if got, came := told[path]; came {
			compared, wrong = true, wrong || got != value
		}
	}
	return compared, wrong
}

// examine compares what somebody was told about a lead with what is known about
// it. The lead is lost when something could have been told and nothing came; when
// something did, fields may be missing.
func examine(known knowledge, email string, fields []string, answer drive.Answer, e *judge.Examined) {
	found, expected := told(answer.Response), known.expected(email, fields)
	if len(expected) > 0 {
		e.Known++
	}
	if len(found) == 0 {
		if len(expected) > 0 {
			e.Lost++
		}
		return
	}
	for path, sure := range expected {
		if !sure {
			continue
		}
		e.Fields++
		if _, came := found[path]; !came {
			e.Missing++
		}
	}
	compared, wrong := known.compare(email, found)
	if compared {
		e.Compared++
	}
	if wrong {
		e.Wrong++
	}
}

// told are the facts of a response by their names in the contract.
func told(response *enrichv1.EnrichResponse) map[string]string {
	facts := map[string]string{}
	for _, spec := range enrich.Attributes() {
		if value := spec.Text(response); value != "" {
			facts[string(spec.Attribute)] = value
		}
	}
	return facts
}
