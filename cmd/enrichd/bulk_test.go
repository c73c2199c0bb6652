package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestHarmless(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "plain": "plain", "+4930123456": "+4930123456", "-12": "-12", "-": "-",
		"=1": "'=1", "@x": "'@x", "+x": "'+x", "-1+1": "'-1+1", "++1": "'++1", "\tx": "'\tx",
	} {
		if got := harmless(cell); got != want {
			t.Errorf("harmless(%q) = %q, want %q", cell, got, want)
		}
	}
}

func TestBulkKeepsOrderAndBoundsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := 0
		next := func() (lead, error) {
			if row == 50 {
				return lead{}, io.EOF
			}
			row++
			return lead{line: int64(row), email: strconv.Itoa(row)}, nil
		}
		var underWay, most atomic.Int32
		ask := func(_ context.Context, lead lead) (*enrichv1.EnrichResponse, error) {
			most.Store(max(most.Load(), underWay.Add(1)))
			defer underWay.Add(-1)
			n, _ := strconv.Atoi(lead.email)
			time.Sleep(time.Duration(50-n) * time.Millisecond) // the first takes longest
			return &enrichv1.EnrichResponse{Email: lead.email}, nil
		}
		want := int64(1)
		err := enrichAll(t.Context(), next, ask, 4, func(r result) error {
			if r.lead.line != want || r.response.GetEmail() != strconv.FormatInt(want, 10) {
				t.Errorf("got row %d, want %d", r.lead.line, want)
			}
			want++
			return nil
		})
		if err != nil || want != 51 || most.Load() != 4 {
			t.Errorf("%v after %d rows with %d under way", err, want-1, most.Load())
		}
	})
}

func TestBulkStops(t *testing.T) {
	broken := errors.New("the disk is full")
	next := func() (lead, error) { return lead{}, nil }
	ask := func(context.Context, lead) (*enrichv1.EnrichResponse, error) { return nil, nil }
	if err := enrichAll(t.Context(), next, ask, 4, func(result) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error = %v, want that of writing", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := enrichAll(ctx, next, ask, 4, func(result) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the cancellation", err)
	}
	for _, parallel := range []atOnce{-1, 0, 1 << 30} {
		if err := enrichAll(t.Context(), next, ask, parallel, func(result) error { return nil }); err == nil {
			t.Errorf("%d leads at once are accepted", parallel)
		}
	}
	unreadable := func() (lead, error) { return lead{}, broken }
	if err := enrichAll(t.Context(), unreadable, ask, 4, func(result) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("error = %v, want that of reading", err)
	}
}

func TestExplainNamesTheCode(t *testing.T) {
	if got := explain(status.Error(codes.Unavailable, "nobody listens")); got != "no enrichd was reached (see --server and --tls): nobody listens" {
		t.Errorf("explain = %q", got)
	}
	if got := explain(status.Error(codes.Unimplemented, "unknown service")); got != "Unimplemented: unknown service" {
		t.Errorf("explain = %q", got)
	}
}
