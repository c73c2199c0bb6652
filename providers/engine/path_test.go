package engine

import (
	"reflect"
	"regexp"
	"testing"
)

func mustPath(t testing.TB, text string) Path {
	t.Helper()
	path, err := parsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func mustPattern(t testing.TB, text string) *regexp.Regexp {
	t.Helper()
	return regexp.MustCompile(text)
}

func TestPaths(t *testing.T) {
	body := `{
		"name": {"full": "Anna"}, "none": null, "empty": {}, "text": "x", "one": "Go",
		"list": [{"type": "Mobile", "n": 1, "on": true}, {"type": "work", "n": 2}, {"type": null, "n": 3}],
		"names": [{"name": "Go"}, {"name": "Redis"}], "paths": [{"t": [{"n": "a"}]}, {"t": [{"n": "b"}, {"n": "c"}]}],
		"by": {"jo@acme.example": "ok"}, "odd.key": 7, "current": "b", "jobs": [{"key": "a"}, {"key": "b", "title": "Head"}], "nothing": []
	}`
	record, ok := decode([]byte(body), body)
	if !ok {
		t.Fatal("unreadable")
	}
	scope := &Scope{Email: "jo@acme.example", Reference: "r"}
	for _, test := range []struct {
		path         string
		want         []any
		sent, broken bool
	}{
		{"name.full", []any{"Anna"}, true, false},
		{"name.short", nil, false, false},
		{"none", []any{nil}, true, false},
		{"none.deep.er", nil, true, false},
		{"empty.x", nil, true, false},
		{"text.x", nil, false, true},
		{"name[*]", nil, false, true},
		{"names.name", nil, false, true},
		{"one[*]", []any{"Go"}, true, false},
		{"list[0].n", []any{1}, true, false},
		{"list[-1].n", []any{3}, true, false},
		{"list[9].n", nil, true, false},
		{"list[type=mobile].n", []any{1}, true, false},
		{"list[type=direct|WORK].n", []any{2}, true, false},
		{"list[type!=work].n", []any{1, 3}, true, false},
		{"list[type=mobile,n=1].n", []any{1}, true, false},
		{"list[on=true].n", []any{1}, true, false},
		{"list[type=null].n", []any{3}, true, false},
		{"list[type=fax].n", nil, true, false},
		{"list[type=mobile].x", nil, false, false},
		{"names[*].name", []any{"Go", "Redis"}, true, false},
		{"paths[*].t[].n", []any{"a", "b", "c"}, true, false},
		{"by[$email]", []any{"ok"}, true, false},
		{`["odd.key"]`, []any{7}, true, false},
		{"jobs[key=@current].title", []any{"Head"}, true, false},
		{"nothing[*].x", nil, true, false},
		{"nothing[0]", nil, true, false},
	} {
		path := mustPath(t, test.path)
		got := path.find(record, scope, new(room))
		if !reflect.DeepEqual(got.values, test.want) || got.sent != test.sent || got.broken != test.broken {
			t.Errorf("%s: %v sent=%t broken=%t, want %v sent=%t broken=%t", test.path, got.values, got.sent, got.broken, test.want, test.sent, test.broken)
		}
	}
}

func TestReferenceFindsTheOwnItem(t *testing.T) {
	path := mustPath(t, "items[id=$reference].v")
	for _, test := range []struct {
		body, reference string
		want            any
	}{
		{`{"items":[{"id":"a","v":1},{"id":"b","v":2}]}`, "b", 2},
		{`{"items":[{"id":"a","v":1}]}`, "b", nil},
		{`{"items":[{"id":"a","v":1}]}`, "", 1},
		{`{"items":[{"id":"a","v":1},{"id":"b","v":2}]}`, "", nil},
	} {
		record, _ := decode([]byte(test.body), test.body)
		if got := path.first(record, &Scope{Reference: test.reference}); got != test.want {
			t.Errorf("%s for %q: %v, want %v", test.body, test.reference, got, test.want)
		}
	}
}

func TestBadPaths(t *testing.T) {
	for _, text := range []string{".a", "a..b", "a.", "a[", "a[x]", "a[0]b", "a b", "a=b", `a["x`, "a[=1", "$x"} {
		if _, err := parsePath(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
