package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/judge"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/providers/engine"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

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

// spelt are attributes that some vendor spells in a way of its own.
var spelt = []string{"person.region"}

// expected are the attributes that were asked for and that any vendor can tell
// of the lead, and whether one is sure to. Without fields everything was asked
// for.
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

// examine compares what somebody was told about a lead with what the vendors
// know about it. The lead is lost when they could have told something and nothing
// came; when something did, fields may be missing.
func (o *oracle) examine(email string, fields []string, answer drive.Answer, e *judge.Examined) {
	found, expected := told(answer.Response), o.expected(email, fields)
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
	e.Compared++
	truth := o.Truth(email)
	for path, value := range found {
		if text, isText := value.(string); isText && !slices.Contains(spelt, path) && truth[path] != text {
			e.Wrong++
			return
		}
	}
}

// told are the facts of a response by their names in the contract.
func told(response *enrichv1.EnrichResponse) map[string]any {
	facts := map[string]any{}
	for _, part := range []struct {
		name    string
		message protoreflect.Message
	}{{"person", response.GetPerson().ProtoReflect()}, {"company", response.GetCompany().ProtoReflect()}} {
		part.message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			facts[part.name+"."+string(field.Name())] = value.Interface()
			return true
		})
	}
	return facts
}
