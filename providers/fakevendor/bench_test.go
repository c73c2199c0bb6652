package fakevendor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkCall is one person call without the network.
func BenchmarkCall(b *testing.B) {
	for _, name := range []string{"peopledatalabs", "hunter", "lusha"} {
		b.Run(name, func(b *testing.B) {
			server, err := New(only(name, all(name)))
			if err != nil {
				b.Fatal(err)
			}
			request := requestFor(name)
			b.ReportAllocs()
			for b.Loop() {
				server.ServeHTTP(discard{http.Header{}}, request())
			}
		})
	}
}

// BenchmarkServe is one person call over the loopback, with the client's share.
func BenchmarkServe(b *testing.B) {
	server, err := New(only("hunter", all("hunter")))
	if err != nil {
		b.Fatal(err)
	}
	listening := httptest.NewServer(server)
	defer listening.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	url := listening.URL + "/hunter/v2/people/find?api_key=k&email=" + ada
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			response, err := client.Get(url)
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	})
}

// requestFor makes the first call of a dialect's test.
func requestFor(name string) func() *http.Request {
	d := dialectTests[name]
	return func() *http.Request { return newRequest("/"+name, d.first, d.header) }
}

// discard is a ResponseWriter that keeps nothing but headers.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
