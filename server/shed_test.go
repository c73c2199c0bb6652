package server

import (
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

func TestAFullServiceRefusesBulkFirstAndInteractiveLast(t *testing.T) {
	for _, when := range []struct {
		underWay int64 // this one included
		refused  []enrich.Lane
	}{
		{1, nil},
		{60, nil},
		{61, []enrich.Lane{enrich.Bulk}},
		{70, []enrich.Lane{enrich.Bulk}},
		{71, []enrich.Lane{enrich.Bulk, enrich.Standard}},
		{80, []enrich.Lane{enrich.Bulk, enrich.Standard}},
	} {
		l := load{most: 80}
		l.grpc.Store(when.underWay / 2)
		l.rest.Store(when.underWay - when.underWay/2)
		var refused []enrich.Lane
		for _, lane := range []enrich.Lane{enrich.Bulk, enrich.Standard, enrich.Interactive} {
			if err := l.shed(lane); err != nil {
				refused = append(refused, lane)
				if typed := enrich.AsError(err); typed.Kind != enrich.Unavailable || typed.Reason != "overloaded" || typed.ReadyAt.IsZero() {
					t.Errorf("%s is refused with %v", lane, err)
				}
			}
		}
		if len(refused) != len(when.refused) {
			t.Errorf("with %d under way %v are refused, want %v", when.underWay, refused, when.refused)
		}
	}
	alone := load{most: 1}
	alone.grpc.Store(1)
	if err := alone.shed(enrich.Bulk); err != nil {
		t.Errorf("the only request is refused: %v", err)
	}
}
