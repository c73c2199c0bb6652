package providers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// careless is a definition whose exchanges try less than they seem to.
const careless = `name: careless
title: Careless
as_of: 2026-11-29
base_url: https://api.careless.example
outcomes:
  - {status: 200, when: body.score > 3, outcome: hit}
  - {status: 200, when: len(body.name) > 100, outcome: partial}
  - {status: 404, outcome: miss}
  - {outcome: malformed}
calls:
  person:
    asks: email
    request: {path: /p, query: {email: $email}}
    hit: {all: [name]}
    map:
      person.full_name: name
      person.title: title
      person.email_status: {value: valid, only: {where: {mail: [yes]}}}
`

const carelessExchanges = `[
  {"name": "a", "definition": "careless", "query": {"email": "jo@acme.example", "field": ["person.title"]},
   "exchanges": [{"stauts": 200, "status": 404, "body": {}}], "expct": {}},
  {"name": "b", "definition": "other", "query": {"email": "jo@acme.example"}, "exchanges": [], "expect": {"outcome": "timeout"}},
  {"name": "c", "query": {"email": "jo@acme.example"},
   "exchanges": [{"status": 200, "body": {"score": "high", "name": "Jo Lind"}}],
   "expect": {"outcome": "hit", "charge": {"micro": 0}}}
]`

func TestCheckFindsWhatNoExchangeTries(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"careless.yaml": careless, "careless.exchanges.json": carelessExchanges} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Check(NewLibrary(folder), "careless")
	if err == nil {
		t.Fatal("accepted")
	}
	wanted := []string{
		`careless.exchanges.json:2: a: unknown key "exchanges[0].stauts"`, `careless.exchanges.json:2: a: unknown key "expct"`,
		`careless.exchanges.json:2: a: unknown key "query.field"`, "careless.exchanges.json:2: a: it expects nothing",
		`careless.exchanges.json:4: b: it belongs to the definition "other"`,
		`careless.exchanges.json:5: c: unknown key "expect.charge.micro"`, `careless.exchanges.json:5: c: outcome: got "malformed", want "hit"`,
		"careless.exchanges.json:5: c: charge:",
		"careless.yaml:6: no recorded exchange reaches this rule (hit)", "careless.yaml:6: this expression fails for every recorded answer",
		"careless.yaml:7: no recorded exchange reaches this rule (partial)",
		"careless.yaml:16: no recorded exchange of person brings person.full_name",
		"careless.yaml:17: no recorded exchange of person brings person.title",
		"careless.yaml:18: no recorded exchange of person brings person.email_status",
	}
	for _, want := range wanted {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported", want)
		}
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != len(wanted) {
		t.Errorf("%d problems, want %d:\n%v", len(lines), len(wanted), err)
	}
}

func TestCasesThatCannotBeRead(t *testing.T) {
	for give, want := range map[string]string{
		"[\n{\"name\":\"a\"},\n{\"name\":\"b\",\n\"now\":\"yesterday\"}]":               `line 3: b: now: "yesterday" is not a time`,
		"[\n\n{\"name\":\"a\",\"exchanges\":[{\"status\":\"200\"}]},\n{\"now\":\"x\"}]": "line 3: a: json: cannot unmarshal string",
		"[{\"now\":\"x\"},\n{\"now\":\"y\"}]":                                           "line 2: a case without a name: now: \"y\"",
		"[\n{\"name\":}]":                                                               "line 2: invalid character",
		"[{\"name\":\"a\"}":                                                             "the file breaks off",
		"{\"name\":\"a\",\"now\":\"noon\"}":                                             "line 1: a: now",
		"":                                                                              "the file breaks off",
	} {
		if _, err := ReadCases([]byte(give)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", give, err, want)
		}
	}
}

func TestAMissingDefinitionIsToldOnce(t *testing.T) {
	cases, err := ReadCases([]byte(`[{"definition":"nobody","expect":{"outcome":"hit"}},{"definition":"nobody"}]`))
	if err != nil {
		t.Fatal(err)
	}
	results := Replay(NewLibrary(""), cases)
	if first, second := results[0].Error, results[1].Error; !strings.Contains(first, "known: peopledatalabs") || strings.Contains(second, "known:") || second == "" {
		t.Errorf("%q and %q", first, second)
	}
	if differences := results[0].Differences(cases[0].Expect); len(differences) != 1 {
		t.Errorf("%v", differences)
	}
}
