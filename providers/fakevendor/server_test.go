package fakevendor

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client talks to a served Server inside the test's bubble.
type client struct {
	t      *testing.T
	server *Server
	http   *http.Client
}

// serve runs a server of the configuration in memory until the test, or its
// bubble, ends.
func serve(t *testing.T, config Config) *client {
	t.Helper()
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	pipe := NewPipe()
	transport := &http.Transport{DialContext: pipe.DialContext, MaxIdleConnsPerHost: 100}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, pipe) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	redirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{t, server, &http.Client{Transport: transport, CheckRedirect: redirects}}
}

// reply is an answer as a client sees it.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

// json reads the value at a path of the body ("data.name.fullName", "data.0").
func (r reply) json(t *testing.T, path string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(r.body), &value); err != nil {
		t.Fatalf("answer %q: %v", r.body, err)
	}
	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// call sends a request. Headers are given as "Name: value".
func (c *client) call(method, path, body string, headers ...string) reply {
	c.t.Helper()
	request, err := http.NewRequest(method, "http://fake"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	return c.send(request)
}

// send makes a call and reads the answer.
func (c *client) send(request *http.Request) reply {
	response, err := c.http.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(text), err}
}

// all is a vendor that knows everything about everybody, without limits.
func all(dialect string) Vendor {
	return Vendor{Dialect: dialect, Limits: Limits{Rules: noRules, Bans: []strict.Ban{}}, Data: &Data{}}
}

func only(name string, v Vendor) Config { return Config{Seed: 1, Vendors: map[string]Vendor{name: v}} }

func bubble(t *testing.T, config Config, test func(t *testing.T, c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, serve(t, config)) })
}

// noRules is no limit at all, where nil would be the published ones.
var noRules = []strict.Limit{}
