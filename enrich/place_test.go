package enrich

import "testing"

// TestPlaces looks every attribute up, and names that the contract lacks.
func TestPlaces(t *testing.T) {
	for place, spec := range Attributes() {
		if got := PlaceOf(spec.Attribute); got != place {
			t.Errorf("%s is at place %d, want %d", spec.Attribute, got, place)
		}
		for _, other := range []Attribute{spec.Attribute[1:], "x" + spec.Attribute, spec.Attribute + "x", spec.Attribute[:7], "y" + spec.Attribute[1:]} {
			if got := PlaceOf(other); got != -1 {
				t.Errorf("%s has the place %d", other, got)
			}
		}
	}
	if got := PlaceOf(""); got != -1 {
		t.Errorf("nothing has the place %d", got)
	}
}

// TestNamesThatEndAlikeHaveNoPlaces: a contract with such names is told so, at
// start.
func TestNamesThatEndAlikeHaveNoPlaces(t *testing.T) {
	if _, ok := newSlots([]Attribute{"person.home_country", "company.hqs_country"}); ok {
		t.Error("two names of one length and end have a slot each")
	}
	if _, ok := newSlots([]Attribute{"person.home_country", "company.home_country"}); !ok {
		t.Error("names of two lengths share a slot")
	}
}

// BenchmarkPlaces is what one look-up takes, next to a map.
func BenchmarkPlaces(b *testing.B) {
	b.Run("place", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			PlaceOf(sorted[i%len(sorted)])
		}
	})
	byName := map[Attribute]int{}
	for place, name := range sorted {
		byName[name] = place
	}
	b.Run("map", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_ = byName[sorted[i%len(sorted)]]
		}
	})
}
