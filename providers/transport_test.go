package providers

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

func TestConnectionsOfManyCallsAreKept(t *testing.T) {
	const together, rounds = 300, 2
	var arrived, opened atomic.Int64
	release := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == together { // all of the first round are open at once
			close(release)
		}
		<-release
		answerWith(200, anna)(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	vendor := vendorAt(t, server.URL, plain)
	asked := person(t)
	for range rounds {
		var calls sync.WaitGroup
		for range together {
			calls.Go(func() {
				if reply := vendor.Lookup(context.Background(), asked); reply.Outcome != enrich.Hit {
					t.Errorf("%+v", reply)
				}
			})
		}
		calls.Wait()
	}
	if opened.Load() > together+together/10 { // net/http dials ahead while another connection comes back
		t.Errorf("%d connections for %d rounds of %d calls", opened.Load(), rounds, together)
	}
}
