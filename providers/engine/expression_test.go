package engine

import (
	"strings"
	"testing"
)

func TestExpressions(t *testing.T) {
	answer := answered(200, map[string]string{"X-Left": "0"}, `{"data":{"n":2,"score":"7.5","jobs":[{"t":"a","y":2019},{"t":"b","y":2024}],"big":12345678901}}`)
	answer.record = member(answer.body, "data")
	view := answer.view(&Scope{Email: "jo@acme.example"})
	for text, want := range map[string]any{
		`status == 200`:                            true,
		`header["x-left"] == "0"`:                  true,
		`body.data.n + 1`:                          3,
		`record.missing.deep`:                      nil,
		`record.jobs[9].t`:                         nil,
		`record.jobs[-1].t`:                        "b",
		`number(record.score) > 7`:                 true,
		`number(record.missing)`:                   nil,
		`text(record.n) + "/" + text(nil)`:         "2/",
		`record.big == 12345678901`:                true,
		`isList(record.jobs)`:                      true,
		`isList(record) || isList(nil)`:            false,
		`isObject(record) && !isObject("x")`:       true,
		`email endsWith "@acme.example"`:           true,
		`raw contains "jobs"`:                      true,
		`raw matches "jo.s"`:                       true,
		`len(filter(record.jobs, .y > 2020))`:      1,
		`first(sortBy(record.jobs, .y, "desc")).t`: "b",
	} {
		compiled, err := compileExpression(text, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, ok := compiled.value(view); !ok || got != want {
			t.Errorf("%s: %v %t, want %v", text, got, ok, want)
		}
	}
	failing, err := compileExpression(`record.missing > 3`, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := failing.value(view); ok || failing.holds(view) {
		t.Error("what cannot be evaluated holds")
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"unknown name":            `recrod.x`,
		"loop in a loop":          `filter(record.a, any(#.b, # == 1))`,
		"body in a loop":          `filter(record.a, # in body.list)`,
		"raw in a loop":           `filter(record.a, raw contains #)`,
		"pattern from the answer": `raw matches record.pattern`,
		"repeat":                  `repeat("x", 1000000)`,
		"clock":                   `now()`,
		"reduce":                  `reduce(record.a, #acc + #, "")`,
		"not a condition":         `"text"`,
		"too long":                `raw == "` + strings.Repeat("x", 2000) + `"`,
		"too many nodes":          strings.Repeat("1+", 300) + "1 == 2",
		"broken":                  `status ==`,
	} {
		if _, err := compileExpression(text, true); err == nil {
			t.Errorf("%s is accepted: %s", name, text)
		}
	}
	answer := answered(200, nil, `{}`)
	huge, err := compileExpression(`len(1..100000000)`, false)
	if err == nil {
		if _, ok := huge.value(answer.view(&Scope{})); ok {
			t.Error("memory has no bound")
		}
	}
}
