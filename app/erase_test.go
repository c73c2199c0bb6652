package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/cache/redistest"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// replica runs the program with one vendor and one account, whose key it is
// given. more is further configuration, one field a line.
func replica(t *testing.T, vendors, hash, more string) *running {
	t.Helper()
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	text := fmt.Sprintf(`
server: {grpc: "127.0.0.1:0", http: "127.0.0.1:0"}
accounts: {list: [{name: sales, keys: [{hash: "%s"}], admin: true}]}
providers: {list: [{definition: %s, base_url: "%s", allow_private: true, credentials: {api_key: k}}]}
%s`, hash, primary, vendors+"/"+primary, more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return follow(t, file, Options{Log: slog.New(slog.DiscardHandler), File: file})
}

func newKey(t *testing.T) (key, hash string) {
	t.Helper()
	key = accounts.NewKey()
	hash, err := accounts.HashKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, hash
}

// eraser asks the operators' and callers' methods of a program over REST.
type eraser struct {
	canaryCall
}

func eraserOf(t *testing.T, program *running, key string) *eraser {
	return &eraser{canaryCall{t: t, program: program, key: key}}
}

// told is whether the title of an address is told, when asked with more fields.
func (e *eraser) told(email, more string) bool {
	e.t.Helper()
	status, said := e.post("/v1/enrich", `{"email":"`+email+`","fields":"person.title"`+more+`}`)
	if status != 200 {
		e.t.Errorf("%s: %d %s", email, status, said)
	}
	return strings.Contains(said, `"title":`)
}

// suppresses tells whether the program knows that an address must not be looked
// up.
func (e *eraser) suppresses(address string) bool {
	e.t.Helper()
	found, err := e.program.app.parts.service.Normalizer.Normalize(address)
	if err != nil {
		e.t.Fatal(err)
	}
	suppressed, err := e.program.app.parts.eraser.Suppressions.Suppressed(found.Key())
	return suppressed && err == nil
}

// erase returns the proof, its places by their names.
func (e *eraser) erase(email string) (*enrichv1.EraseSubjectResponse, map[string]int64) {
	e.t.Helper()
	status, said := e.post("/v1/subjects:erase", `{"email":"`+email+`"}`)
	proof, places := &enrichv1.EraseSubjectResponse{}, map[string]int64{}
	if err := protojson.Unmarshal([]byte(said[strings.Index(said, "{"):]), proof); status != 200 || err != nil {
		e.t.Fatalf("erase: %d %v %s", status, err, said)
	}
	for _, dropped := range proof.GetDropped() {
		places[dropped.GetPlace()] = dropped.GetEntries()
	}
	if !proof.GetSuppressed() || len(proof.GetSubject()) != 32 || strings.Contains(said, email) || proof.GetEraseTime() == nil {
		e.t.Errorf("the proof is %s", said)
	}
	return proof, places
}

const cached, once = `,"cache":"CACHE_POLICY_ONLY"`, `,"idempotencyKey":"k"`

// TestAnErasureInMemoryAlone erases without Redis and without files.
func TestAnErasureInMemoryAlone(t *testing.T) {
	vendors, address := startVendors(t)
	key, hash := newKey(t)
	e := eraserOf(t, replica(t, address, hash, ""), key)
	const jane = "jane.doe@acme.example"
	if !e.told(jane, once) || !e.told(jane, cached) {
		t.Fatal("nothing is known of her")
	}
	calls := vendors.Summary(primary).Calls
	if _, places := e.erase(jane); len(places) != 3 || places["answers"] != 1 {
		t.Errorf("it dropped %v", places)
	}
	for _, more := range []string{once, cached, "", `,"cache":"CACHE_POLICY_REFRESH"`} {
		if e.told(jane, more) {
			t.Errorf("she is told of, asked with %q", more)
		}
	}
	if e.told("jane.doe@acme.example ", "") || vendors.Summary(primary).Calls != calls {
		t.Error("she was looked up again")
	}
}

// TestAnErasureReachesEverything erases at one replica what both know, what a
// shared Redis keeps, and what is being looked up.
func TestAnErasureReachesEverything(t *testing.T) {
	vendors, _ := startVendors(t)
	var held atomic.Bool
	arrived, letGo := make(chan struct{}, 1), make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if held.Load() {
			arrived <- struct{}{}
			<-letGo
		}
		vendors.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	address, server := front.URL, redistest.Start(t)
	key, hash := newKey(t)
	const pepper = "pepper: a pepper for tests only"
	shared := func(part, also string) string {
		return fmt.Sprintf("%s: {redis: {addresses: [%q]}%s}\n", part, server.Addr, also)
	}
	stores := shared("cache", "") + shared("idempotency", ", "+pepper)
	stores = strings.Replace(stores, "]}}", "], "+pepper+"}}", 1)
	everything := stores + shared("privacy", ", "+pepper)
	one := eraserOf(t, replica(t, address, hash, everything), key)
	two := eraserOf(t, replica(t, address, hash, everything), key)
	// A program of another list shows what the stores still hold.
	unaware := eraserOf(t, replica(t, address, hash, stores), key)

	const jane, john = "jane.doe@acme.example", "john.roe@acme.example"
	for _, e := range []*eraser{one, two} {
		for _, who := range []string{jane, john} {
			if !e.told(who, "") || !e.told(who, cached) {
				t.Fatal("nothing is known")
			}
		}
	}
	if !two.told(jane, once) {
		t.Fatal("nothing is known under the key")
	}
	calls := func() int64 { return vendors.Summary(primary).Calls }
	before := calls()
	if _, places := one.erase(jane); places["answers"] != 1 {
		t.Errorf("it dropped %v", places)
	}
	if one.told(jane, "") || one.told(jane, once) {
		t.Error("she is told of where she was erased")
	}
	if unaware.told(jane, cached) {
		t.Error("the caches' Redis still has her")
	}
	waitFor(t, "the other replica knows", func() bool { return two.suppresses(jane) })
	if two.told(jane, "") || two.told(jane, once) || calls() != before {
		t.Error("she is told of elsewhere, or was looked up again")
	}
	for _, e := range []*eraser{one, two, unaware} {
		if !e.told(john, cached) {
			t.Error("somebody else is not told of any more")
		}
	}

	if status, said := two.post("/v1/subjects:lift", `{"email":"`+jane+`"}`); status != 200 || !strings.Contains(strings.ReplaceAll(said, " ", ""), `"lifted":true`) {
		t.Errorf("lift: %d %s", status, said)
	}
	waitFor(t, "the other replica knows", func() bool { return !one.suppresses(jane) })
	if !one.told(jane, "") || !two.told(jane, cached) || calls() != before+1 {
		t.Error("she is not looked up again, once, after her suppression was lifted")
	}
	before = calls()
	one.erase(jane)
	if one.told(jane, "") || calls() != before {
		t.Error("she cannot be erased again")
	}

	within := time.Duration(0)
	for i := range 3 { // a busy machine may be late once
		lead := fmt.Sprintf("lead%d@acme.example", i)
		two.told(lead, "")
		one.erase(lead)
		erased := time.Now()
		waitFor(t, "the other replica knows", func() bool { return two.suppresses(lead) })
		if within = time.Since(erased); two.told(lead, "") {
			t.Errorf("%s is told of", lead)
		}
		if within < time.Second {
			break
		}
	}
	if within >= time.Second {
		t.Errorf("the other replica knows after %s", within)
	}

	held.Store(true)
	const late = "late.comer@acme.example"
	asking := make(chan bool)
	go func() { asking <- one.told(late, "") }()
	<-arrived
	if _, places := one.erase(late); places["flights"] != 1 {
		t.Errorf("it stopped %v", places)
	}
	close(letGo)
	if <-asking || unaware.told(late, cached) {
		t.Error("what was brought about her after the erasure is told, or kept")
	}
}
