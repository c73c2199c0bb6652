package providers

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

// TestReloadKeepsWhatHasNotChanged has one change after another made to two
// providers of one definition.
func TestReloadKeepsWhatHasNotChanged(t *testing.T) {
	folder := t.TempDir()
	write := func(more string) {
		t.Helper()
		text := "name: tested\ntitle: Tested\nas_of: 2026-11-29\nbase_url: https://api.tested.example\n" + plain + more
		if err := os.WriteFile(filepath.Join(folder, "tested.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	config := func(change func(*Config)) Config {
		c := Config{Folder: folder, List: []ProviderConfig{{Definition: "tested"}, {Definition: "tested", Name: "other"}}}
		change(&c)
		return c
	}
	nothing := func(*Config) {}
	before, err := New(config(nothing), Options{})
	if err != nil {
		t.Fatal(err)
	}
	credit := 2.0
	for name, test := range map[string]struct {
		change       func(*Config)
		vendor, conn bool // "tested" stays whole, keeps its connections
		other        bool // "other" stays whole
	}{
		"nothing":         {nothing, true, true, true},
		"the order":       {func(c *Config) { slices.Reverse(c.List) }, true, true, true},
		"a price":         {func(c *Config) { c.List[0].Credit = &credit }, false, true, true},
		"allow_private":   {func(c *Config) { c.List[0].AllowPrivate = true }, false, false, true},
		"the proxy":       {func(c *Config) { c.Proxy = "http://proxy.example.com:3128" }, false, false, false},
		"one is gone":     {func(c *Config) { c.List = c.List[:1] }, true, true, false},
		"the definition":  {func(*Config) { write("# another word\n") }, false, true, false},
		"nothing at last": {func(*Config) { write("") }, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			defer write("")
			after, err := before.Reload(config(test.change))
			if err != nil {
				t.Fatal(err)
			}
			was, is := before.Vendor("tested"), after.Vendor("tested")
			if (was == is) != test.vendor || (was.transport == is.transport) != test.conn {
				t.Errorf("the vendor stays: %v, its connections: %v", was == is, was.transport == is.transport)
			}
			if stays := before.Vendor("other") == after.Vendor("other"); stays != test.other {
				t.Errorf("the other one stays: %v", stays)
			}
		})
	}
	if _, err := before.Reload(config(func(c *Config) { c.List[1].Timeout = -1 })); err == nil {
		t.Error("a bad configuration is taken")
	}
}

// watched tells when a connection is closed.
type watched struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (w *watched) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// TestRetiredConnectionsDrain lets a look-up end over a connection that is no
// longer used otherwise, and expects that to be closed afterwards.
func TestRetiredConnectionsDrain(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	vendor := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-answer
		answerWith(http.StatusOK, `{"name":"Anna Weber","title":"Captain"}`)(w, r)
	})
	closed := make(chan struct{})
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &watched{Conn: conn, closed: closed}, err
	}
	file := filepath.Join(t.TempDir(), "tested.yaml")
	if err := os.WriteFile(file, []byte("name: tested\ntitle: Tested\nas_of: 2026-11-29\nbase_url: https://api.tested.example\n"+plain), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := New(Config{List: []ProviderConfig{{Definition: file, BaseURL: vendor.URL, AllowPrivate: true}}}, Options{Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	replied := make(chan Reply, 1)
	go func() { replied <- before.Vendor("tested").Lookup(t.Context(), person(t, "person.title")) }()
	<-arrived
	after, err := before.Reload(Config{})
	if err != nil {
		t.Fatal(err)
	}
	before.Retire(after)
	close(answer)
	if reply := <-replied; reply.Outcome != enrich.Hit {
		t.Errorf("the look-up under way came to %s: %v", reply.Outcome, reply.Err)
	}
	<-closed
}
