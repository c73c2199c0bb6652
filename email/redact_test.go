package email

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// TestNothingPrintsByAccident sends a canary through every way of printing that
// the standard library has.
func TestNothingPrintsByAccident(t *testing.T) {
	const canary = "canary.bird"
	a, err := newNormalizer(t, Config{Fold: ProfileConsumer}).Normalize("Bird <Canary.Bird@gmail.com>")
	if err != nil {
		t.Fatal(err)
	}
	k := a.Key()
	if a.Reveal() != canary+"@gmail.com" || k.Reveal() != "e1:consumer:canarybird@gmail.com" {
		t.Fatal("the canary does not sing")
	}
	type exported struct {
		A Address
		K Key
	}
	type hidden struct {
		a Address
		k Key
		p *Address
	}
	values := []any{
		a, k, &a, &k, exported{a, k}, &exported{a, k}, hidden{a, k, &a}, &hidden{a, k, &a},
		[]Address{a}, []*Key{&k}, [1]Key{k}, map[string]Address{"x": a}, []any{a, k}, []hidden{{a: a, k: k}},
		fmt.Errorf("failed for %v and %s", a, k), errors.Join(fmt.Errorf("%+v %#v", a, k)),
	}
	for _, v := range values {
		for _, verb := range "vTtbcdoOqxXUeEfFgGspw!" {
			for _, flags := range []string{"", "+", "#", "-20", " ", "0", ".3", "[1]"} {
				check(t, fmt.Sprintf("%"+flags+string(verb), v), canary)
			}
		}
		check(t, fmt.Sprint(v), canary)
		check(t, fmt.Sprintln(v), canary)
		var buf bytes.Buffer
		if err := json.NewEncoder(&buf).Encode(v); err == nil {
			check(t, buf.String(), canary)
		}
		buf.Reset()
		if err := xml.NewEncoder(&buf).Encode(v); err == nil {
			check(t, buf.String(), canary)
		}
		buf.Reset()
		slog.New(slog.NewTextHandler(&buf, nil)).Info("x", "v", v, slog.Group("g", "v", v))
		slog.New(slog.NewJSONHandler(&buf, nil)).Info("x", "v", v, slog.Group("g", "v", v))
		check(t, buf.String(), canary)
	}
	if got := fmt.Sprintf("%s|%v|%d", a, k, a); got != "[address]|[address]|[address]" {
		t.Errorf("printed as %s", got)
	}
	if got, _ := json.Marshal(exported{a, k}); string(got) != `{"A":"[address]","K":"[address]"}` {
		t.Errorf("encoded as %s", got)
	}
	if got := a.String() + k.GoString() + a.LogValue().String(); got != strings.Repeat(redactedText, 3) {
		t.Errorf("printed as %s", got)
	}
}

func check(t *testing.T, printed, canary string) {
	t.Helper()
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("%d", []byte(canary[:4]))} {
		if strings.Contains(printed, strings.Trim(form, "[]")) {
			t.Fatalf("printed as %s", printed)
		}
	}
}

// TestOnlyTheNormalizerBuilds makes sure that the zero values are recognizable
// and that == does not compile.
func TestOnlyTheNormalizerBuilds(t *testing.T) {
	var a Address
	if !a.IsZero() || !a.Key().IsZero() || !a.Registrable().IsZero() {
		t.Error("the zero Address is something")
	}
	if a.Reveal()+a.Domain()+a.Suggestion()+a.Key().Reveal()+a.Registrable().String() != "" {
		t.Error("the zero Address has a text")
	}
	if a.Role() || a.Free() || a.Disposable() || a.SMTPUTF8() || a.UnknownTLD() || a.Repairs() != nil {
		t.Error("the zero Address has flags")
	}
	for _, v := range []any{a, a.Key()} {
		typ := reflect.TypeOf(v)
		if typ.Comparable() {
			t.Errorf("%s can be compared, but holds a pointer", typ)
		}
		for i := range typ.NumField() {
			if typ.Field(i).IsExported() {
				t.Errorf("%s.%s is exported", typ, typ.Field(i).Name)
			}
		}
	}
}
