package enrich

import "testing"

// TestUrgencyOnlyRises, and tells those who ask for it.
func TestUrgencyOnlyRises(t *testing.T) {
	u := NewUrgency(Bulk)
	aboveBulk := u.Risen(Bulk)
	u.Join(Bulk)
	if aboveBulk.Err() != nil || u.Lane() != Bulk {
		t.Fatalf("a second bulk caller lifted it to %s", u.Lane())
	}
	u.Join(Standard)
	if aboveBulk.Err() == nil || u.Lane() != Standard {
		t.Fatalf("a standard caller left it in %s", u.Lane())
	}
	aboveStandard := u.Risen(Standard)
	u.Join(Bulk)
	if aboveStandard.Err() != nil || u.Lane() != Standard {
		t.Fatalf("a bulk caller moved it to %s", u.Lane())
	}
	u.Join(Interactive)
	if aboveStandard.Err() == nil || u.Risen(Bulk).Err() == nil || u.Lane() != Interactive {
		t.Fatalf("an interactive caller left it in %s", u.Lane())
	}
	if u.Risen(Interactive) != nil {
		t.Error("it waits for a lane above the most urgent")
	}
}
