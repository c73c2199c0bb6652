package fakevendor_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// A primary and a fallback in one process, without a socket; the primary goes
// out of service and comes back.
func ExampleServer() {
	server, err := fakevendor.New(fakevendor.Config{Seed: 7, Vendors: map[string]fakevendor.Vendor{
		"peopledatalabs": {
			Limits: fakevendor.Limits{Rules: []strict.Limit{
				{Name: "second", Shape: strict.TokenBucket, Amount: 10, Burst: 10, Window: time.Second},
			}},
			Data:   &fakevendor.Data{Knowledge: truth.Knowledge{Miss: 0.25}},
			Faults: fakevendor.Faults{Latency: fakevendor.Latency{Median: 6 * time.Millisecond, Sigma: 0.4}},
		},
		"hunter": {},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	pipe, done := fakevendor.NewPipe(), make(chan error)
	go func() { done <- server.Serve(ctx, pipe) }()

	transport := &http.Transport{DialContext: pipe.DialContext}
	client := &http.Client{Transport: transport}
	find := func() {
		response, err := client.Get("http://fake/peopledatalabs/v5/person/enrich?api_key=any&email=ines.oakhurst@quiet-mill.example")
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		fmt.Println(response.StatusCode)
	}
	find()
	server.SetFaults("peopledatalabs", fakevendor.Faults{Rules: []fakevendor.Fault{{Kind: fakevendor.Brownout}}})
	find()
	server.SetFaults("peopledatalabs", fakevendor.Faults{})
	find()
	got := server.Summary("peopledatalabs")
	fmt.Println(got.Calls, "calls,", got.Charged, "billed,", got.Duplicates, "of them again")

	transport.CloseIdleConnections()
	stop()
	fmt.Println(<-done)
	// Output:
	// 200
	// 503
	// 200
	// 3 calls, 2 billed, 1 of them again
	// <nil>
}
