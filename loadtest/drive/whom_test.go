package drive_test

import (
	"crypto/tls"
	"crypto/x509"
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

func ask(t *testing.T, way, address string, config *tls.Config) (code string) {
	t.Helper()
	driver, err := drive.New(way, drive.Service{GRPC: address, REST: address, Key: "key", TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	driver.Ask(t.Context(), []drive.Question{{Email: "lead@acme.example"}}, func(_ int, answer drive.Answer) { code = answer.Code })
	return code
}

// encrypted serves with TLS, by a certificate for example.com.
func encrypted(t *testing.T, handler http.HandlerFunc) (address string, config *tls.Config) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	config = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"}
	config.RootCAs.AddCert(server.Certificate())
	return strings.TrimPrefix(server.URL, "https://"), config
}

func TestARedirectIsNotFollowed(t *testing.T) {
	address, n := asked(t)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+address, http.StatusTemporaryRedirect)
	}
	service := httptest.NewServer(http.HandlerFunc(redirect))
	defer service.Close()
	if code := ask(t, "rest", strings.TrimPrefix(service.URL, "http://"), nil); code == "OK" || n.Load() != 0 {
		t.Errorf("%s, and %d questions went elsewhere", code, n.Load())
	}
	at, config := encrypted(t, redirect)
	if code := ask(t, "rest", at, config); code != "Unknown" || n.Load() != 0 {
		t.Errorf("with TLS: %s, and %d questions went elsewhere", code, n.Load())
	}
}

// TestNoProxyIsAsked names a host that cannot be looked up: only a proxy would
// be asked for it.
func TestNoProxyIsAsked(t *testing.T) {
	proxy, n := asked(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, "http://"+proxy)
	}
	for _, config := range []*tls.Config{nil, {ServerName: "example.com"}} {
		for _, way := range drive.Ways {
			if code := ask(t, way, net.JoinHostPort("no..host", "80"), config); code == "OK" || n.Load() != 0 {
				t.Errorf("%s, with TLS %t: %s, and a proxy was asked %d times", way, config != nil, code, n.Load())
			}
		}
	}
}

// TestWhoIsSomebodyElseIsToldNothing asks by an address whose certificate names
// a host, in every way.
func TestWhoIsSomebodyElseIsToldNothing(t *testing.T) {
	var hosts atomic.Pointer[string]
	address, config := encrypted(t, func(_ http.ResponseWriter, r *http.Request) { hosts.Store(&r.Host) })
	other := config.Clone()
	other.ServerName = "other.example"
	_, port, _ := net.SplitHostPort(address)
	for _, way := range drive.Ways {
		hosts.Store(nil)
		if code := ask(t, way, address, other); code != "Unavailable" || hosts.Load() != nil {
			t.Errorf("%s: %s of who is not other.example", way, code)
		}
		ask(t, way, address, config)
		if host := hosts.Load(); host == nil || strings.TrimSuffix(*host, ":"+port) != "example.com" {
			t.Errorf("%s: the question was not for example.com", way)
		}
	}
}
