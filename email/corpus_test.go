package email

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// corpusCase is one line of syntax, messy, unicode and unsafe.jsonl.
type corpusCase struct {
	ID      string   `json:"id"`
	Input   string   `json:"input"`
	Base64  []byte   `json:"input_b64"`
	Expect  string   `json:"expect"`
	Address string   `json:"address"`
	Error   string   `json:"error"`
	Also    []string `json:"also"`
	Policy  string   `json:"policy"`
	Never   []string `json:"never"`
}

func (c corpusCase) raw() string {
	if c.Base64 != nil {
		return string(c.Base64)
	}
	return c.Input
}

// readLines reads one JSON value a line.
func readLines[T any](t testing.TB, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, v)
	}
	return all
}

func corpus(t testing.TB) []corpusCase {
	var all []corpusCase
	for _, name := range []string{"syntax.jsonl", "messy.jsonl", "unicode.jsonl", "unsafe.jsonl"} {
		all = append(all, readLines[corpusCase](t, name)...)
	}
	return all
}

// result normalizes raw and returns the outcome as the corpus writes it.
func result(t testing.TB, n *Normalizer, raw string) string {
	t.Helper()
	a, err := n.Normalize(raw)
	if err == nil {
		return "ok:" + a.Reveal()
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is a %T", err)
	}
	return "error:" + string(e.Class)
}

func newNormalizer(t testing.TB, c Config) *Normalizer {
	t.Helper()
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCorpus applies the pass rule of the corpus: every case without a policy
// passes, at least 95 in 100 with one, and nothing listed as never comes out.
// Of the expected errors, at least 95 in 100 have the preferred class.
func TestCorpus(t *testing.T) {
	n := newNormalizer(t, Config{})
	var policy, policyPassed, classes, preferred int
	for _, c := range corpus(t) {
		got := result(t, n, c.raw())
		want := "ok:" + c.Address
		if c.Expect == "error" {
			want = "error:" + c.Error
			classes++
			if got == want {
				preferred++
			} else {
				t.Logf("%s: %s instead of the preferred %s", c.ID, got, want)
			}
		}
		passed := got == want || slices.Contains(c.Also, got)
		if c.Policy != "" {
			policy++
			if passed {
				policyPassed++
			} else {
				t.Logf("%s (%s): got %s, want %s", c.ID, c.Policy, got, want)
			}
		} else if !passed {
			t.Errorf("%s: got %s, want %s", c.ID, got, want)
		}
		for _, never := range c.Never {
			if got == "ok:"+never {
				t.Errorf("%s: %s must never come out", c.ID, never)
			}
		}
	}
	if policyPassed*100 < policy*95 {
		t.Errorf("%d of %d policy cases pass", policyPassed, policy)
	}
	if preferred*100 < classes*95 {
		t.Errorf("%d of %d errors have the preferred class", preferred, classes)
	}
}

func TestProviders(t *testing.T) {
	plain, folding := newNormalizer(t, Config{}), newNormalizer(t, Config{Fold: ProfileConsumer})
	type providerCase struct {
		ID, Input, Error string
		KeyPlain         string   `json:"key_plain"`
		KeyFold          string   `json:"key_fold"`
		Wrong            []string `json:"wrong"`
	}
	for _, c := range readLines[providerCase](t, "providers.jsonl") {
		a, err := plain.Normalize(c.Input)
		if c.Error != "" {
			if err == nil {
				t.Errorf("%s: accepted", c.ID)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		if got := a.Key().Reveal(); got != "e1:none:"+c.KeyPlain {
			t.Errorf("%s: key %s, want %s", c.ID, got, c.KeyPlain)
		}
		b, err := folding.Normalize(c.Input)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		if b.Reveal() != a.Reveal() {
			t.Errorf("%s: folding changed the address to %s", c.ID, b.Reveal())
		}
		got := b.Key().Reveal()
		if got != "e1:consumer:"+c.KeyFold {
			t.Errorf("%s: folded key %s, want %s", c.ID, got, c.KeyFold)
		}
		for _, wrong := range c.Wrong {
			if got == "e1:consumer:"+wrong {
				t.Errorf("%s: %s must not come out", c.ID, wrong)
			}
		}
	}
}

func TestPairs(t *testing.T) {
	type pairCase struct {
		ID, A, B   string
		PlainEqual bool `json:"plain_equal"`
		FoldEqual  bool `json:"fold_equal"`
	}
	equal := func(n *Normalizer, c pairCase) bool {
		a, errA := n.Normalize(c.A)
		b, errB := n.Normalize(c.B)
		return errA == nil && errB == nil && a.Key().Reveal() == b.Key().Reveal()
	}
	plain, folding := newNormalizer(t, Config{}), newNormalizer(t, Config{Fold: ProfileConsumer})
	for _, c := range readLines[pairCase](t, "pairs.jsonl") {
		if got := equal(plain, c); got != c.PlainEqual {
			t.Errorf("%s: plain keys equal: %t", c.ID, got)
		}
		if got := equal(folding, c); got != c.FoldEqual {
			t.Errorf("%s: folded keys equal: %t", c.ID, got)
		}
	}
}

func TestAttributes(t *testing.T) {
	type attributeCase struct {
		ID, Address            string
		Role, Free, Disposable bool
		Policy                 string
	}
	for _, c := range readLines[attributeCase](t, "attributes.jsonl") {
		a, err := Normalize(c.Address)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		if a.Role() != c.Role || a.Free() != c.Free || a.Disposable() != c.Disposable {
			t.Errorf("%s: role %t, free %t, disposable %t", c.ID, a.Role(), a.Free(), a.Disposable())
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	type idempotencyCase struct {
		ID      string
		Inputs  []string
		Address string
		Day     string
		Key     string
	}
	folding := newNormalizer(t, Config{Fold: ProfileConsumer})
	for _, c := range readLines[idempotencyCase](t, "idempotency.jsonl") {
		day, err := time.Parse(time.DateOnly, c.Day)
		if err != nil {
			t.Fatal(err)
		}
		for _, input := range c.Inputs {
			a, err := folding.Normalize(input)
			if err != nil || a.Reveal() != c.Address {
				t.Errorf("%s: got %s, %v", c.ID, a.Reveal(), err)
				continue
			}
			if got := IdempotencyKey(a, day); got != c.Key {
				t.Errorf("%s: key %s", c.ID, got)
			}
			late := day.Add(24*time.Hour - 1).In(time.FixedZone("UTC+14", 14*3600))
			if got := IdempotencyKey(a, late); got != c.Key {
				t.Errorf("%s: the day is not that of UTC", c.ID)
			}
		}
	}
	if got := IdempotencyKey(Address{}, time.Now()); got != "" {
		t.Errorf("no address has the key %s", got)
	}
}
