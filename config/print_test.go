package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/enrichd/enrichd/enrich"
)

// withSecrets sets every text that a Config can hold below a field, those in
// one element of each list and mapping as well.
func withSecrets(value reflect.Value, secret bool, secretText, plainText string) {
	if value.Kind() == reflect.Struct && !structured(value.Type()) {
		return // a time
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			withSecrets(value.Field(i), secret || isSecret(value.Type().Field(i)), secretText, plainText)
		}
	case reflect.Map:
		item := reflect.New(value.Type().Elem()).Elem()
		withSecrets(item, secret, secretText, plainText)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("name").Convert(value.Type().Key()), item)
	case reflect.Slice:
		item := reflect.New(value.Type().Elem()).Elem()
		withSecrets(item, secret, secretText, plainText)
		value.Set(reflect.Append(value, item))
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		withSecrets(value.Elem(), secret, secretText, plainText)
	case reflect.String:
		value.SetString(plainText)
		if secret {
			value.SetString(secretText)
		}
	}
}

// TestNoSecretIsPrinted fills every field there is.
func TestNoSecretIsPrinted(t *testing.T) {
	var full Config
	withSecrets(reflect.ValueOf(&full).Elem(), false, "5ecret", "in the open")
	for form, print := range map[string]func() ([]byte, error){"YAML": full.YAML, "JSON": full.JSON} {
		text, err := print()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "5ecret") {
			t.Errorf("%s holds a secret:\n%s", form, text)
		}
		if !strings.Contains(string(text), Hidden) || !strings.Contains(string(text), "in the open") {
			t.Errorf("%s does not show that secrets are set, or hides all else:\n%s", form, text)
		}
	}
	for _, change := range Changes(Config{}, full) {
		if strings.Contains(change.Path, "5ecret") {
			t.Errorf("a change holds a secret: %s", change.Path)
		}
	}
}

// TestSecretsAreMarked finds fields that are named like secrets and would be
// printed.
func TestSecretsAreMarked(t *testing.T) {
	var look func(of reflect.Type, path string, secret bool)
	look = func(of reflect.Type, path string, secret bool) {
		for structured(of) && of.Kind() != reflect.Struct {
			of = of.Elem()
		}
		if !structured(of) {
			return
		}
		for _, field := range fieldsOf(of) {
			name := field.Tag.Get("yaml")
			marked := secret || isSecret(field)
			for _, word := range []string{"password", "pepper", "secret", "token", "credential", "key", "header"} {
				isFile := strings.HasSuffix(name, "_file") || strings.HasSuffix(name, "_files")
				if strings.Contains(name, word) && !marked && !isFile && (!structured(field.Type) || field.Type.Kind() == reflect.Map) && field.Type.Kind() != reflect.Int {
					t.Errorf("%s is named like a secret and is not marked secret:\"true\"", within(path, name))
				}
			}
			look(field.Type, within(path, name), marked)
		}
	}
	look(reflect.TypeFor[Config](), "", false)
}

// TestWhatIsPrintedIsEffective reads what was printed: it means the same.
func TestWhatIsPrintedIsEffective(t *testing.T) {
	setExample(t)
	loaded, err := Load("enrichd.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	loaded.Accounts.List[0].Purposes = map[string][]enrich.Attribute{"all": nil, "outreach": {"person.title"}}
	effective := loaded.WithDefaults()
	text, err := effective.YAML()
	if err != nil {
		t.Fatal(err)
	}
	pepper := strings.Repeat("p", 16)
	again, err := Parse("printed.yaml", []byte(strings.ReplaceAll(string(text), Hidden, pepper)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	retold, err := again.WithDefaults().YAML()
	if err != nil {
		t.Fatal(err)
	}
	if string(retold) != string(text) {
		t.Errorf("printed\n%s\nread and printed again\n%s", text, retold)
	}
	for _, want := range []string{"name: hunter", "retry_budget: 45s", "max_waiting: 32768"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the defaults lack %q:\n%s", want, text)
		}
	}
	asJSON, err := effective.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var fromYAML any
	if err := yaml.Unmarshal(text, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if want, err := json.Marshal(fromYAML); err != nil || string(want) != string(asJSON) {
		t.Errorf("the JSON says something else (%v):\n%s\n%s", err, asJSON, want)
	}
}

// TestPrintedDefaultsAreAFile reads what is printed of an empty file, which has
// no store.
func TestPrintedDefaultsAreAFile(t *testing.T) {
	text, err := (Config{}).WithDefaults().YAML()
	if err != nil {
		t.Fatal(err)
	}
	if read, err := Parse("printed.yaml", text); err != nil || read.AcceptsLeads() {
		t.Errorf("accepts leads: %t, %v\n%s", read.AcceptsLeads(), err, text)
	}
}

func TestChangesNameFieldsAndWhenTheyHold(t *testing.T) {
	before := `
log: {level: info}
server: {grpc: "127.0.0.1:1", drain_timeout: 1m}
answers: {freshness: {attributes: {person.title: 1h, person.seniority: 1h}}}
quota: {caps: [{day: 5}], replicas: 2}
providers: {list: [{definition: hunter, credentials: {api_key: one}}, {definition: peopledatalabs, credentials: {api_key: one}}]}
`
	was, err := Parse("before.yaml", []byte(before))
	if err != nil {
		t.Fatal(err)
	}
	if changes := Changes(was, was); len(changes) > 0 {
		t.Errorf("no change is %v", changes)
	}
	is, err := Parse("after.yaml", []byte(strings.NewReplacer(
		"info", "warn", `"127.0.0.1:1"`, `"127.0.0.1:2"`, "person.title: 1h", "person.title: 2h", ", person.seniority: 1h", "",
		"day: 5", "day: 6", "replicas: 2", "replicas: 3", "api_key: one}}, {", "api_key: two}}, {",
	).Replace(before)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Path: "log.level"}, {Path: "server.grpc", Restart: true},
		{Path: "answers.freshness.attributes.person.seniority"}, {Path: "answers.freshness.attributes.person.title"},
		{Path: "quota.replicas", Restart: true}, {Path: "quota.caps[0].day"},
		{Path: "providers.list[0].credentials.api_key"},
	}
	got := Changes(was, is)
	if len(got) != len(want) {
		t.Fatalf("changes = %v, want %v", got, want)
	}
	for _, change := range want {
		found := false
		for _, one := range got {
			found = found || one == change
		}
		if !found {
			t.Errorf("changes = %v lack %v", got, change)
		}
	}
	is.Providers.List = is.Providers.List[:1]
	if got := Changes(was, is); got[len(got)-1].Path != "providers.list" {
		t.Errorf("a shorter list is %v", got)
	}
}

// TestFieldsThatNeedARestartExist keeps the list true when fields are renamed.
func TestFieldsThatNeedARestartExist(t *testing.T) {
	for _, path := range afterRestart {
		of := reflect.TypeFor[Config]()
		for name := range strings.SplitSeq(path, ".") {
			found := false
			for _, field := range fieldsOf(of) {
				if field.Tag.Get("yaml") == name {
					of, found = field.Type, true
					break
				}
			}
			if !found {
				t.Fatalf("there is no field %s", path)
			}
		}
	}
}
