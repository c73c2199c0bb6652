package enrich

import "testing"

func TestFindingsStaySorted(t *testing.T) {
	var found Findings
	for _, source := range []string{"first", "second"} {
		for _, attribute := range []Attribute{"person.title", "company.name", "person.city"} {
			found = found.With(Provenance{Fact: &Fact{Attribute: attribute, State: StateValue, Source: source}})
		}
	}
	if len(found) != 3 || found[0].Fact.Attribute != "company.name" || found[1].Fact.Attribute != "person.city" {
		t.Errorf("found %v", found)
	}
	if by := found.Of("person.title").Fact.Source; by != "second" {
		t.Errorf("the title is of the %s", by)
	}
	if none := found.Of("person.phone"); none.Fact.State != 0 {
		t.Errorf("a phone was found: %v", none)
	}
}
