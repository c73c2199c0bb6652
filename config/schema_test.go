package config

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/enrichd/enrichd/enrich"
)

const schemaFile = "enrichd.schema.json"

// standsFor matches texts in which something is put in when they are read, so
// that they may be anything.
const standsFor = `\$\{`

// TestTheSchemaIsFresh compares the schema for editors with the fields.
func TestTheSchemaIsFresh(t *testing.T) {
	schema := schemaOf(t, reflect.TypeFor[Config](), "")
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "enrichd configuration"
	want, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, want) {
		t.Errorf("%s is not what the fields say: run make fields", schemaFile)
	}
}

// schemaOf describes what the file may hold where a value of the type is read.
// Nothing at all may stand everywhere.
func schemaOf(t *testing.T, of reflect.Type, described string) map[string]any {
	schema := map[string]any{}
	if described != "" {
		schema["description"] = described
	}
	if words := wordsOf(t, of); len(words) > 0 {
		schema["anyOf"] = []any{map[string]any{"enum": words}, map[string]any{"type": "string", "pattern": standsFor}, map[string]any{"type": "null"}}
		return schema
	}
	if !structured(of) {
		schema["anyOf"] = append(scalarSchemas(of), map[string]any{"type": "null"})
		return schema
	}
	switch of.Kind() {
	case reflect.Struct:
		comments, fields := commentsOf(t, of), map[string]any{}
		for _, field := range fieldsOf(of) {
			fields[field.Tag.Get("yaml")] = schemaOf(t, field.Type, comments[field.Name])
		}
		schema["type"], schema["properties"], schema["additionalProperties"] = []string{"object", "null"}, fields, false
	case reflect.Map:
		schema["type"], schema["additionalProperties"] = []string{"object", "null"}, schemaOf(t, of.Elem(), "")
		if words := wordsOf(t, of.Key()); len(words) > 0 {
			schema["propertyNames"] = map[string]any{"enum": words}
		}
	case reflect.Slice:
		schema["type"], schema["items"] = []string{"array", "null"}, schemaOf(t, of.Elem(), "")
	case reflect.Pointer:
		return schemaOf(t, of.Elem(), described)
	}
	return schema
}

func scalarSchemas(of reflect.Type) []any {
	var one map[string]any
	switch {
	case of == durationType:
		return []any{map[string]any{"type": "string", "pattern": `^[-+]?([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$|` + standsFor}}
	case of.Kind() == reflect.Bool:
		one = map[string]any{"type": "boolean"}
	case of.Kind() == reflect.Int, of.Kind() == reflect.Int64:
		one = map[string]any{"type": "integer"}
	case of.Kind() == reflect.Float64:
		one = map[string]any{"type": "number"}
	default:
		return []any{map[string]any{"type": []string{"string", "number", "boolean"}}} // texts stay as they are written
	}
	return []any{one, map[string]any{"type": "string", "pattern": standsFor}}
}

// wordsOf lists the words of a type that has some: the contract's attributes,
// the levels of the log, or the constants declared beside the type.
func wordsOf(t *testing.T, of reflect.Type) (words []string) {
	switch {
	case of == reflect.TypeFor[enrich.Attribute]():
		for _, spec := range enrich.Attributes() {
			words = append(words, string(spec.Attribute))
		}
		return words
	case of == reflect.TypeFor[Log]().Field(0).Type:
		return []string{"debug", "info", "warn", "error"}
	case of.Kind() != reflect.String || of.PkgPath() == "":
		return nil
	}
	for _, file := range parsedPackage(t, of.PkgPath()) {
		for _, declared := range file.Decls {
			constants, ok := declared.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				value := spec.(*ast.ValueSpec)
				named, ok := value.Type.(*ast.Ident)
				if !ok || named.Name != of.Name() {
					continue
				}
				for _, literal := range value.Values {
					if text, ok := literal.(*ast.BasicLit); ok {
						word, err := strconv.Unquote(text.Value)
						if err != nil {
							t.Fatal(err)
						}
						words = append(words, word)
					}
				}
			}
		}
	}
	return words
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaFile, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON is a YAML file as the validator takes it.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	converted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(converted))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// TestTheSchemaAgreesWithTheReading has an independent validator accept what
// loads, and refuse what does not.
func TestTheSchemaAgreesWithTheReading(t *testing.T) {
	schema := compiledSchema(t)
	setExample(t)
	example, err := os.ReadFile("enrichd.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Parse("enrichd.example.yaml", example)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := loaded.WithDefaults().YAML()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"the example": example, "its effective form": printed, "an empty section": []byte("providers:\n")} {
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	for _, name := range []string{"unknown_key.yaml", "wrong_type.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSON(t, text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for _, wrong := range []string{
		"log: {level: loud}", "router: {order: dearest}", "answers: {retry_budget: 45}", "quota: {reserve: much}",
		"answers: {freshness: {attributes: {person.shoe_size: 1h}}}", "providers: {list: [{definition: hunter, limits: [{shape: round}]}]}",
	} {
		if err := schema.Validate(asJSON(t, []byte(wrong))); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
