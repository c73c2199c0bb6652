package providers

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// zeros is an endless stream of one character.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestUnreadableAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   enrich.Outcome
		known  bool
	}{
		"HTML": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>"+anna) }, enrich.Malformed, false},
		"JSON said to be HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, anna)
		}, enrich.Malformed, false},
		"half of it":       {answerWith(200, anna[:20]), enrich.Malformed, false},
		"two answers":      {answerWith(200, anna+anna), enrich.Malformed, false},
		"nothing":          {answerWith(200, ""), enrich.Malformed, false},
		"10 MB":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, 10<<20) }, enrich.Malformed, false},
		"10 MB of 503":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); _, _ = io.CopyN(w, zeros{}, 10<<20) }, enrich.Temporary, true},
		"deeply nested":    {answerWith(200, strings.Repeat("[", 20000)+strings.Repeat("]", 20000)), enrich.Malformed, false},
		"very many values": {answerWith(200, `{"name":"Anna Weber","title":null,"x":[`+strings.Repeat("0,", 200_000)+`0]}`), enrich.Malformed, false},
		"closed in the body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, anna[:20])
		}, enrich.Malformed, false},
		"closed before an answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, enrich.Temporary, false},
		"a bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = io.CopyN(packed, zeros{}, 1<<30)
			_ = packed.Close()
		}, enrich.Malformed, false},
		"packed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = io.WriteString(packed, anna)
			_ = packed.Close()
		}, enrich.Hit, true},
		"an unknown packing": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write([]byte{0x8b, 2, 0x80})
		}, enrich.Malformed, false},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t, test.answer)
			reply := vendorAt(t, fake.URL, "credit: 1\n"+plain).Lookup(context.Background(), person(t))
			if reply.Outcome != test.want || reply.Charge.Known != test.known {
				t.Errorf("%+v, want %s", reply, test.want)
			}
		})
	}
}

func TestNoSilentSecondCall(t *testing.T) {
	var calls atomic.Int64
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			panic(http.ErrAbortHandler) // on a kept connection net/http would send the request again
		}
		answerWith(200, anna)(w, r)
	})
	vendor := vendorAt(t, fake.URL, plain)
	vendor.Lookup(context.Background(), person(t))
	if reply := vendor.Lookup(context.Background(), person(t)); reply.Outcome != enrich.Temporary || calls.Load() != 2 {
		t.Errorf("%+v after %d calls", reply, calls.Load())
	}
}

func TestRedirectsStayWithinTheHost(t *testing.T) {
	other := newFake(t, answerWith(200, anna))
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			answerWith(200, anna)(w, r)
		case "/person":
			http.Redirect(w, r, map[string]string{"in": "/moved", "out": other.URL + "/person", "round": "/person?to=round"}[r.Header.Get("To")], http.StatusFound)
		}
	})
	for to, want := range map[string]enrich.Outcome{"in": enrich.Hit, "out": enrich.Malformed, "round": enrich.Malformed} {
		vendor := vendorAt(t, fake.URL, "auth: {headers: {To: "+to+"}}\n"+plain)
		if reply := vendor.Lookup(context.Background(), person(t)); reply.Outcome != want {
			t.Errorf("%s: %+v, want %s", to, reply, want)
		}
	}
	if len(other.calls()) > 0 {
		t.Error("another host was asked")
	}
	if calls := fake.calls(); len(calls) != 2+1+1+maxRedirects {
		t.Errorf("%d calls", len(calls))
	}
	for _, call := range fake.calls() {
		if call.request.Referer() != "" {
			t.Error("where a redirect came from is told")
		}
	}
}

func TestWhichRedirectsAreFollowed(t *testing.T) {
	const host = "https://api.acme.example"
	for _, test := range []struct {
		method           string
		length           int64
		status           int
		location, target string
	}{
		{"GET", 0, 301, "/b", host + "/b"},
		{"GET", 0, 302, host + "/b?c=d", host + "/b?c=d"},
		{"GET", 0, 303, "b", host + "/b"},
		{"GET", 0, 307, "/b", host + "/b"},
		{"POST", 0, 308, "/b", host + "/b"},
		{"POST", 0, 303, "/b", ""},
		{"POST", 2, 302, "/b", ""},
		{"POST", 2, 307, "/b", ""},
		{"GET", 0, 302, "", ""},
		{"GET", 0, 302, "://", ""},
		{"GET", 0, 302, "http://api.acme.example/b", ""},
		{"GET", 0, 302, "https://acme.example/b", ""},
		{"GET", 0, 300, "/b", ""},
		{"GET", 0, 200, "/b", ""},
	} {
		request := httptest.NewRequest(test.method, host+"/a", nil)
		request.ContentLength = test.length
		answer := &http.Response{StatusCode: test.status, Request: request, Header: http.Header{"Location": {test.location}}}
		target := ""
		if followed := redirectOf(request, answer); followed != nil {
			target = followed.String()
		}
		if target != test.target {
			t.Errorf("%+v: %q", test, target)
		}
	}
}

func TestTheEnvironmentsProxyIsIgnored(t *testing.T) {
	proxy := newFake(t, answerWith(200, anna))
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	fake := newFake(t, answerWith(200, anna))
	if reply := vendorAt(t, strings.Replace(fake.URL, "127.0.0.1", "localhost", 1), plain).Lookup(context.Background(), person(t)); reply.Outcome != enrich.Hit {
		t.Errorf("%+v", reply)
	}
	if len(proxy.calls()) > 0 {
		t.Error("the proxy was asked")
	}

	set, err := New(Config{Proxy: proxy.URL, List: []ProviderConfig{{Definition: "hunter", Credentials: map[string]string{"api_key": "k"}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	set.Vendors()[0].Lookup(context.Background(), person(t))
	if calls := proxy.calls(); len(calls) != 1 || calls[0].request.Method != http.MethodConnect {
		t.Error("the configured proxy was not asked")
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	fake := newFake(t, answerWith(200, anna))
	vendor := vendorAt(t, fake.URL, plain)
	vendor.transport = newTransport(nil, nil, false)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		base := *vendor.base
		base.Host = strings.Replace(base.Host, "127.0.0.1", host, 1)
		vendor.base = &base
		reply := vendor.Lookup(context.Background(), person(t))
		if reply.Outcome != enrich.Temporary || !strings.Contains(reply.Err.Error(), "allow_private") || !reply.Charge.Known {
			t.Errorf("%s: %+v", host, reply)
		}
	}
	if len(fake.calls()) > 0 {
		t.Error("a private address was called")
	}
	for text, public := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false, "240.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false, "2001:db8::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != public {
			t.Errorf("%s: public is %t", text, got)
		}
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	server := httptest.NewUnstartedServer(answerWith(200, anna))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	if reply := vendorAt(t, server.URL, plain).Lookup(context.Background(), person(t)); reply.Outcome != enrich.Temporary || !reply.Charge.Known {
		t.Errorf("%+v", reply)
	}
}

// TestRequestsOnTheWire makes sure that the body which is read only once leaves
// no trace in a request without one.
func TestRequestsOnTheWire(t *testing.T) {
	fake := newFake(t, answerWith(200, anna))
	vendor := vendorAt(t, fake.URL, plain)
	vendor.Lookup(context.Background(), person(t))
	request := fake.calls()[0].request
	if request.ContentLength != 0 || request.TransferEncoding != nil || len(request.Header["Transfer-Encoding"])+len(request.Header["Content-Length"]) > 0 {
		t.Errorf("GET: length %d, transfer encoding %v, %v", request.ContentLength, request.TransferEncoding, request.Header)
	}
	vendor = vendorAt(t, fake.URL, strings.Replace(plain, "{path: /person", "{method: POST, path: /person", 1))
	vendor.Lookup(context.Background(), person(t))
	if request := fake.calls()[1].request; request.ContentLength != 0 || request.TransferEncoding != nil {
		t.Errorf("POST: length %d, transfer encoding %v", request.ContentLength, request.TransferEncoding)
	}
}

// TestTimeLimits runs in simulated time, over connections in memory.
func TestTimeLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		dial, stop := inMemory(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/people/find" {
				w.WriteHeader(200)
				_, _ = io.WriteString(w, `{"data":`)
				w.(http.Flusher).Flush()
			}
			<-hang
		})
		set, err := New(Config{List: []ProviderConfig{{
			Definition: "hunter", Credentials: map[string]string{"api_key": "k"}, BaseURL: "http://hunter.example", AllowPrivate: true, Timeout: 3 * time.Second,
		}}}, Options{Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		vendor := set.Vendors()[0]
		for name, test := range map[string]struct {
			query   Query
			budget  time.Duration
			outcome enrich.Outcome
			took    time.Duration
		}{
			"hangs in the body":           {person(t), time.Minute, enrich.Timeout, 3 * time.Second},
			"hangs before an answer":      {company(t, "company.name"), time.Minute, enrich.Timeout, 3 * time.Second},
			"the caller's deadline holds": {company(t, "company.name"), time.Second, enrich.Timeout, time.Second},
		} {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), test.budget)
			reply := vendor.Lookup(ctx, test.query)
			cancel()
			if reply.Outcome != test.outcome || time.Since(began) != test.took || reply.Charge.Known {
				t.Errorf("%s: %+v after %v", name, reply, time.Since(began))
			}
		}
		close(hang)
		set.Close()
		stop()
	})
}

// inMemory serves HTTP over pipes.
func inMemory(handler http.HandlerFunc) (dial Dial, stop func()) {
	listener := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }()
	return listener.dial, func() { _ = server.Close() }
}

type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.connections <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// TestNothingLeaksIntoErrors looks for credentials, addresses and the vendor's
// text in every error there can be.
func TestNothingLeaksIntoErrors(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"refusal": answerWith(401, `{"message":"key k3y of anna.weber@acme.example is wrong"}`),
		"outage":  answerWith(500, `k3y anna.weber`),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.example/?"+r.URL.RawQuery, http.StatusFound)
		},
		"close": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"text":  answerWith(200, `anna.weber@acme.example k3y`),
	} {
		fake := newFake(t, answer)
		vendor := vendorAt(t, fake.URL, "secrets: [key]\nauth: {query: {key: $secret.key}}\n"+plain, func(c *ProviderConfig) { c.Credentials = map[string]string{"key": "k3y"} })
		reply := vendor.Lookup(context.Background(), person(t))
		if reply.Err == nil {
			t.Errorf("%s: no error: %+v", name, reply)
			continue
		}
		for _, secret := range []string{"k3y", "anna", "wrong", fake.Listener.Addr().String()} {
			if strings.Contains(reply.Err.Error(), secret) {
				t.Errorf("%s: %q leaks %q", name, reply.Err, secret)
			}
		}
	}
	vendor := vendorAt(t, "http://127.0.0.1:1", "secrets: [key]\nauth: {query: {key: $secret.key}}\n"+plain, func(c *ProviderConfig) { c.Credentials = map[string]string{"key": "k3y"} })
	if reply := vendor.Lookup(context.Background(), person(t)); reply.Outcome != enrich.Temporary || !reply.Charge.Known || bytes.ContainsAny([]byte(reply.Err.Error()), "@?") {
		t.Errorf("%+v", reply)
	}
}
