package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// remoteLedgers reads the ledgers of fake vendors that run elsewhere.
func remoteLedgers(ctx context.Context, address string, since time.Time) ([]judge.Ledger, error) {
	var all struct {
		Vendors map[string]fakevendor.Summary `json:"vendors"`
	}
	if err := get(ctx, "http://"+address+"/_control/summary", &all); err != nil {
		return nil, err
	}
	var ledgers []judge.Ledger
	for name, summary := range all.Vendors {
		ledger := judge.Ledger{Name: name, Summary: summary}
		for after := uint64(0); ; {
			var page struct {
				Entries []fakevendor.Entry `json:"entries"`
			}
			if err := get(ctx, fmt.Sprintf("http://%s/_control/ledger?vendor=%s&after=%d&limit=10000", address, name, after), &page); err != nil {
				return nil, err
			}
			if len(page.Entries) == 0 {
				break
			}
			after = page.Entries[len(page.Entries)-1].Seq
			for _, entry := range page.Entries {
				if !entry.Time.Before(since) {
					ledger.Entries = append(ledger.Entries, entry)
				}
			}
		}
		if len(ledger.Entries) > 0 {
			ledgers = append(ledgers, ledger)
		}
	}
	return ledgers, nil
}

func get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}
