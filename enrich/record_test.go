package enrich

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// someFacts makes facts whose places and times collide often.
func someFacts(random *rand.Rand, count int) []Fact {
	base := time.UnixMilli(1_800_000_000_000)
	facts := make([]Fact, count)
	for i := range facts {
		facts[i] = Fact{
			Attribute:  []Attribute{"person.title", "person.city", "company.technologies"}[random.IntN(3)],
			State:      []State{StateValue, StateAbsent, StateSuppressed}[random.IntN(3)],
			Source:     []string{"a", "b", "c"}[random.IntN(3)],
			FetchedAt:  base.Add(time.Duration(random.IntN(3)) * time.Hour),
			Confidence: float64(random.IntN(2)),
			Price:      Micros(random.IntN(2)),
		}
		if facts[i].State == StateValue {
			facts[i].Value = TextValue(fmt.Sprint("v", random.IntN(3)))
		}
	}
	return facts
}

func equalRecords(a, b Record) bool {
	return slices.EqualFunc(a.facts, b.facts, func(x, y Fact) bool {
		return comparePlace(&x, &y) == 0 && !x.supersedes(&y) && !y.supersedes(&x)
	})
}

func TestJoinDoesNotDependOnOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		facts := someFacts(random, random.IntN(12))
		a, b, c := NewRecord(facts[:len(facts)/3]...), NewRecord(facts[len(facts)/3:len(facts)/2]...), NewRecord(facts[len(facts)/2:]...)
		if !equalRecords(a.Join(b), b.Join(a)) {
			t.Fatalf("joining is not commutative: %v and %v", a, b)
		}
		if !equalRecords(a.Join(b).Join(c), a.Join(b.Join(c))) {
			t.Fatalf("joining is not associative: %v, %v and %v", a, b, c)
		}
		if !equalRecords(a.Join(a), a) {
			t.Fatalf("joining is not idempotent: %v", a)
		}
		if !equalRecords(a.Join(b).Join(c), NewRecord(facts...)) {
			t.Fatalf("joining and making a record disagree: %v", facts)
		}
	}
}

func TestBestDoesNotDependOnOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	all := func(Fact) bool { return true }
	for range 2000 {
		facts := someFacts(random, 8)
		first, _ := NewRecord(facts...).Best("person.title", all)
		random.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
		second, _ := NewRecord(facts...).Best("person.title", all)
		if first.outranks(&second) || second.outranks(&first) || !first.Value.Equal(second.Value) {
			t.Fatalf("two best facts: %v and %v", first, second)
		}
	}
}

func TestAlongGivesWhatAboutDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	all := []Attribute{"company.name", "company.technologies", "person.city", "person.region", "person.title"}
	for range 2000 {
		record := NewRecord(someFacts(random, random.IntN(12))...)
		wanted := slices.DeleteFunc(slices.Clone(all), func(Attribute) bool { return random.IntN(3) == 0 })
		var walked []Attribute
		for attribute, facts := range record.along(wanted) {
			walked = append(walked, attribute)
			if about := record.About(attribute); !equalRecords(Record{facts}, Record{about}) {
				t.Fatalf("along %v gives %v about %s, want %v", wanted, facts, attribute, about)
			}
		}
		if !slices.Equal(walked, wanted) {
			t.Fatalf("along %v goes %v", wanted, walked)
		}
	}
}

func TestAboutAndKeep(t *testing.T) {
	record := NewRecord(
		Fact{Attribute: "person.title", State: StateValue, Value: TextValue("x"), Source: "b", Price: 2},
		Fact{Attribute: "person.title", State: StateAbsent, Source: "a"},
		Fact{Attribute: "person.city", State: StateAbsent, Source: "a", Price: 3},
	)
	if about := record.About("person.title"); len(about) != 2 || about[0].Source != "a" || about[1].Source != "b" {
		t.Errorf("About = %v", about)
	}
	if about := record.About("person.region"); len(about) != 0 {
		t.Errorf("About an unknown attribute = %v", about)
	}
	kept := record.Keep(func(f Fact) bool { return f.Source == "a" })
	if len(kept.Facts()) != 2 || len(record.Facts()) != 3 {
		t.Errorf("Keep left %d facts and the original has %d", len(kept.Facts()), len(record.Facts()))
	}
}
