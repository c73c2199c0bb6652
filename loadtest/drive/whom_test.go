package drive_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/enrichd/enrichd/loadtest/drive"
)

// asked counts who is asked at an address that nobody allowed.
func asked(t *testing.T) (address string, n *atomic.Int64) {
	t.Helper()
	n = new(atomic.Int64)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
	t.Cleanup(elsewhere.Close)
	return strings.TrimPrefix(elsewhere.URL, "http://"), n
}

func ask(t *testing.T, way, address string) (code string) {
	t.Helper()
	driver, err := drive.New(way, address, address, "key")
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	driver.Ask(t.Context(), []drive.Question{{Email: "lead@acme.example"}}, func(_ int, answer drive.Answer) { code = answer.Code })
	return code
}

func TestARedirectIsNotFollowed(t *testing.T) {
	address, n := asked(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+address, http.StatusTemporaryRedirect)
	}))
	defer service.Close()
	if code := ask(t, "rest", strings.TrimPrefix(service.URL, "http://")); code == "OK" || n.Load() != 0 {
		t.Errorf("%s, and %d questions went elsewhere", code, n.Load())
	}
}

// TestNoProxyIsAsked names a host that cannot be looked up: only a proxy would
// be asked for it.
func TestNoProxyIsAsked(t *testing.T) {
	proxy, n := asked(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, "http://"+proxy)
	}
	for _, way := range drive.Ways {
		if code := ask(t, way, net.JoinHostPort("no..host", "80")); code == "OK" || n.Load() != 0 {
			t.Errorf("%s: %s, and a proxy was asked %d times", way, code, n.Load())
		}
	}
}
