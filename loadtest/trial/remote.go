package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// remote are fake vendors that run elsewhere. Their ledgers began before the
// load did, so that they are read twice.
type remote struct {
	address string
	before  map[string]fakevendor.Summary
}

// newRemote notes what the vendors have booked so far.
func newRemote(ctx context.Context, address string) (*remote, error) {
	before, err := summaries(ctx, address)
	return &remote{address: address, before: before}, err
}

// ledgers are what has been booked since, of each vendor. Vendors that were not
// called have a ledger without calls.
func (r *remote) ledgers(ctx context.Context) (ledgers []judge.Ledger, err error) {
	after, err := summaries(ctx, r.address)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		before := r.before[name]
		if after[name].Calls < before.Calls {
			return nil, fmt.Errorf("%s: its ledger was emptied while the load ran", name)
		}
		ledger := judge.Ledger{Name: name, Summary: since(before, after[name])}
		// A vendor numbers its calls from 1.
		if ledger.Entries, err = entries(ctx, r.address, name, uint64(before.Calls), uint64(after[name].Calls)); err != nil {
			return nil, err
		}
		ledger.Cut = max(ledger.Summary.Calls-int64(len(ledger.Entries)), 0)
		ledgers = append(ledgers, ledger)
	}
	return ledgers, nil
}

// since is what the judge reads of a summary, without what had been counted
// before.
func since(before, after fakevendor.Summary) fakevendor.Summary {
	left := fakevendor.Summary{
		Calls: after.Calls - before.Calls, RateLimited: after.RateLimited - before.RateLimited, TooMany: after.TooMany - before.TooMany,
		Duplicates: after.Duplicates - before.Duplicates, ChargedMicros: after.ChargedMicros - before.ChargedMicros,
		RefusedBy: map[string]int64{},
	}
	for limit, refused := range after.RefusedBy {
		left.RefusedBy[limit] = refused - before.RefusedBy[limit]
	}
	return left
}

func summaries(ctx context.Context, address string) (map[string]fakevendor.Summary, error) {
	var all struct {
		Vendors map[string]fakevendor.Summary `json:"vendors"`
	}
	err := get(ctx, "http://"+address+"/_control/summary", &all)
	return all.Vendors, err
}

// entries reads those that are kept of the calls after one number until another.
func entries(ctx context.Context, address, vendor string, after, until uint64) (all []fakevendor.Entry, err error) {
	for after < until {
		var page struct {
			Entries []fakevendor.Entry `json:"entries"`
		}
		if err := get(ctx, fmt.Sprintf("http://%s/_control/ledger?vendor=%s&after=%d&limit=10000", address, vendor, after), &page); err != nil {
			return nil, err
		}
		if len(page.Entries) == 0 {
			break
		}
		after = page.Entries[len(page.Entries)-1].Seq
		for _, entry := range page.Entries {
			if entry.Seq <= until {
				all = append(all, entry)
			}
		}
	}
	return all, nil
}

func get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := drive.NewClient(nil)
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}
