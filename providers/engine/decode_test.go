package engine

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDecode(t *testing.T) {
	for text, want := range map[string]any{
		`{"a":"plain","b\n":"x\ty","ü":"Köln","e":"\u00e4\ud83d\ude00"}`: map[string]any{"a": "plain", "b\n": "x\ty", "ü": "Köln", "e": "ä😀"},
		"{\"a\":\"J\xf6rg\"}": map[string]any{"a": "J\ufffdrg"},
		`{"a":1,"a":2}`:       map[string]any{"a": 2},
		`[1,-7,1.0,1.5,1e2,12345678901,99999999999999999999,1e999]`: []any{
			1, -7, 1.0, 1.5, 100.0, 12345678901, json.Number("99999999999999999999"), json.Number("1e999"),
		},
		`[null,true,false,"",[],{}]`: []any{nil, true, false, "", []any{}, map[string]any{}},
		" \n {} \n":                  map[string]any{},
		"\uFEFF{\"a\":\"b\"}":        map[string]any{"a": "b"},
		`"x"`:                        "x",
	} {
		if got, ok := decode([]byte(text), text); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v %t, want %#v", text, got, ok, want)
		}
	}
	for _, text := range []string{``, ` `, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `{}{}`, `{} x`, `'a'`, `NaN`, `01`, `"a`, `{1:2}`, "\"a\nb\"", `<html>`} {
		if got, ok := decode([]byte(text), text); ok {
			t.Errorf("%q is read as %#v", text, got)
		}
	}
}
