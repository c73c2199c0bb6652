package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

const vendorName = "peopledatalabs"

// vendor is a strict fake vendor that is being measured.
type vendor struct {
	server *fakevendor.Server
	url    string
	length time.Duration
	stop   func()

	calls, refused int64 // of the run, set at its end
}

// startVendor serves a vendor under one limit that answers as usual ones do:
// 120 ms at the median, with a tail.
func startVendor(limit strict.Limit) (*vendor, error) {
	server, err := fakevendor.New(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{vendorName: {
		Limits: fakevendor.Limits{Rules: []strict.Limit{limit}},
		Data:   &fakevendor.Data{},
		Faults: fakevendor.Faults{Latency: fakevendor.Latency{Median: 120 * time.Millisecond, Sigma: 0.4}},
	}}})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	return &vendor{
		server: server,
		url:    fmt.Sprintf("http://%s/%s", listener.Addr(), vendorName),
		stop:   func() { cancel(); <-served },
	}, nil
}

// during calls work from the beginning of the next ten-second window until the
// run's length has passed, and counts what the vendor saw in that time.
func (v *vendor) during(ctx context.Context, work func(context.Context)) error {
	begin := time.Now().Truncate(10 * time.Second).Add(10 * time.Second)
	select {
	case <-time.After(time.Until(begin)):
	case <-ctx.Done():
		return ctx.Err()
	}
	before := v.server.Summary(vendorName)
	working, cancel := context.WithDeadline(ctx, begin.Add(v.length))
	defer cancel()
	ended := make(chan struct{})
	go func() { work(working); close(ended) }()
	<-working.Done()
	after := v.server.Summary(vendorName)
	v.calls, v.refused = after.Calls-before.Calls, after.RateLimited-before.RateLimited
	<-ended
	return ctx.Err()
}

func (v *vendor) counts() (calls, refused int64) { return v.calls, v.refused }
