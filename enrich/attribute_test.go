package enrich

import (
	"slices"
	"testing"
	"time"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestContractIsComplete(t *testing.T) {
	if len(Attributes()) != 32 {
		t.Errorf("the contract has %d attributes, want 32", len(Attributes()))
	}
	for _, spec := range Attributes() {
		if spec.Privacy == enrichv1.Privacy_PRIVACY_UNSPECIFIED || spec.FreshFor < day {
			t.Errorf("%s has no privacy or freshness", spec.Attribute)
		}
		if personal := spec.Privacy != enrichv1.Privacy_PRIVACY_PUBLIC; personal != (spec.Attribute.Kind() == Person) {
			t.Errorf("%s has privacy %s", spec.Attribute, spec.Privacy)
		}
	}
	title, _ := SpecOf("person.title")
	if title.FreshFor != 30*24*time.Hour || title.Form != Text {
		t.Errorf("person.title is read as %+v", title)
	}
}

func TestWords(t *testing.T) {
	ranges, _ := SpecOf("company.employee_range")
	if want := []string{"1-10", "11-50", "51-200", "201-500", "501-1000", "1001-5000", "5001-10000", "10001+"}; !slices.Equal(ranges.Words, want) {
		t.Errorf("ranges = %q", ranges.Words)
	}
	seniority, _ := SpecOf("person.seniority")
	if !slices.Contains(seniority.Words, "c_suite") {
		t.Errorf("seniorities = %q", seniority.Words)
	}
	for _, spec := range Attributes() {
		for _, word := range spec.Words {
			number, ok := NumberOf(spec.Field.Enum(), word)
			if !ok || WordOf(spec.Field.Enum().Values().ByNumber(number)) != word {
				t.Errorf("%s: the word %q does not come back", spec.Attribute, word)
			}
		}
	}
}

func TestEmployeeRange(t *testing.T) {
	for people, want := range map[int64]string{0: "", -3: "", 1: "1-10", 10: "1-10", 11: "11-50", 200: "51-200", 201: "201-500", 1000: "501-1000", 10000: "5001-10000", 10001: "10001+", 4_000_000: "10001+"} {
		if got := EmployeeRange(people); got != want {
			t.Errorf("EmployeeRange(%d) = %q, want %q", people, got, want)
		}
	}
}
