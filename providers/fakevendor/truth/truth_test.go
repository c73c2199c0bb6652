package truth

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	first, _ := World{Seed: 7}.Person("Ada.North@Blue-River.example ")
	second, _ := World{Seed: 7}.Person("ada.north@blue-river.example")
	other, _ := World{Seed: 8}.Person("ada.north@blue-river.example")
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%+v and %+v", first, second)
	}
	if reflect.DeepEqual(first, other) {
		t.Error("another seed is the same world")
	}
}

func TestNamesFollowTheAddress(t *testing.T) {
	for local, want := range map[string]string{
		"ada.north": "Ada North", "ada_north42": "Ada North", "ada-m-north": "Ada North", "émile.zweig+news": "Émile Zweig",
	} {
		if p, _ := (World{}).Person(local + "@blue-river.example"); p.FullName != want {
			t.Errorf("%s is %q, want %q", local, p.FullName, want)
		}
	}
	initial, _ := World{}.Person("k.north@blue-river.example")
	if initial.FirstName != "Kira" || initial.LastName != "North" {
		t.Errorf("k.north is %q", initial.FullName)
	}
	if _, exists := (World{}).Person("info@blue-river.example"); exists {
		t.Error("info@ is a person")
	}
}

func TestFreeMailSaysNothingAboutTheEmployer(t *testing.T) {
	p, _ := World{}.Person("ada.north@gmail.com")
	if !slices.Contains(employers, p.CompanyDomain) {
		t.Errorf("employer %q", p.CompanyDomain)
	}
	if _, found := (World{}).CompanyAt("v", Knowledge{}, "gmail.com"); found != Nothing {
		t.Error("gmail.com is a company")
	}
}

func TestVendorsKnowPartsOfTheSameTruth(t *testing.T) {
	w := World{Seed: 3}
	k := Knowledge{Miss: 0.25, Partial: 0.1, Gaps: 0.2, Attributes: map[string]float64{"person.phone": 0.6}}
	const subjects = 4000
	counts := map[string]float64{}
	bothMiss := 0.0
	for i := range subjects {
		address := fmt.Sprintf("ada%d.north@blue-river%d.example", i, i/3)
		whole, _ := w.Person(address)
		p, found := w.PersonAt("first", k, address)
		_, second := w.PersonAt("second", k, address)
		if found == Nothing && second == Nothing {
			bothMiss++
		}
		counts[fmt.Sprint("found ", found)]++
		truth := whole.Attributes()
		for name, value := range p.Attributes() {
			counts[name]++
			if truth[name] != value {
				t.Fatalf("%s: %v, in truth %v", name, value, truth[name])
			}
		}
		company, _ := w.CompanyAt("first", k, whole.CompanyDomain)
		if found >= Thin && !reflect.DeepEqual(company, p.Employer) {
			t.Fatal("the employer is not what the vendor says of the company")
		}
	}
	for what, want := range map[string]float64{
		"found 0":      0.25,
		"found 2":      0.75 * 0.1,
		"person.title": 0.75 * 0.9 * 0.8,
		"person.phone": 0.75 * 0.9 * 0.4,
	} {
		if got := counts[what] / subjects; math.Abs(got-want) > 0.03 {
			t.Errorf("%s: %.3f, want %.3f", what, got, want)
		}
	}
	if got := bothMiss / subjects; math.Abs(got-0.25*0.25) > 0.02 {
		t.Errorf("both miss %.3f: vendors do not miss independently", got)
	}
}

func TestCompaniesAreConsistent(t *testing.T) {
	ranges := map[string]int{}
	for i := range 3000 {
		c := World{}.Company(fmt.Sprintf("blue-river%d.example", i))
		ranges[c.EmployeeRange]++
		if EmployeeRange(c.Employees) != c.EmployeeRange || c.Employees < 1 {
			t.Errorf("%d people are %s", c.Employees, c.EmployeeRange)
		}
		if !slices.IsSorted(c.Technologies) || len(c.Technologies) < 3 || len(slices.Compact(slices.Clone(c.Technologies))) != len(c.Technologies) {
			t.Errorf("technologies %v", c.Technologies)
		}
		if c.Founded < 1900 || c.Founded > 2026 || c.RevenueRange == "" {
			t.Errorf("%+v", c)
		}
	}
	if len(ranges) != len(employeeRanges) {
		t.Errorf("sizes %v, want all %d ranges", ranges, len(employeeRanges))
	}
}

func TestEveryAttributeCanBeForgotten(t *testing.T) {
	w := World{Seed: 1}
	const address = "ada.north@blue-river.example"
	for _, name := range Attributes() {
		k := Knowledge{Attributes: map[string]float64{name: 1}}
		p, _ := w.PersonAt("v", k, address)
		c, _ := w.CompanyAt("v", k, "blue-river.example")
		known := p.Attributes()
		for attribute, value := range c.Attributes() {
			known[attribute] = value
		}
		if _, ok := known[name]; ok || len(known) != len(Attributes())-1 {
			t.Errorf("without %s, %d attributes of %d are known", name, len(known), len(Attributes()))
		}
	}
}

func BenchmarkPersonAt(b *testing.B) {
	b.ReportAllocs()
	w := World{Seed: 1}
	for b.Loop() {
		w.PersonAt("vendor", Knowledge{Gaps: 0.1}, "ada.north@blue-river.example")
	}
}
