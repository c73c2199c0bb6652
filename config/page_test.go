package config

import (
	"encoding"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const (
	page       = "../docs/configuration.md"
	fieldsMark = "<!-- fields -->\n"
	module     = "github.com/enrichd/enrichd/"
)

var update = flag.Bool("update", false, "write the fields into "+page)

// TestThePageListsEveryField compares the page with the fields and what is
// written at them.
func TestThePageListsEveryField(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	intro, listed, found := strings.Cut(string(text), fieldsMark)
	if !found {
		t.Fatalf("%s has no %s", page, fieldsMark)
	}
	want := fieldTables(t)
	if *update {
		if err := os.WriteFile(page, []byte(intro+fieldsMark+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if listed == want {
		return
	}
	old, now := strings.Split(listed, "\n"), strings.Split(want, "\n")
	for i := range max(len(old), len(now)) {
		if i >= len(old) || i >= len(now) || old[i] != now[i] {
			t.Fatalf("%s does not say what is written at the fields: run make fields. First difference:\n%s\n%s", page, at(old, i), at(now, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// fieldTables is a table for each section.
func fieldTables(t *testing.T) string {
	var text strings.Builder
	sections := reflect.TypeFor[Config]()
	for i := range sections.NumField() {
		section := sections.Field(i)
		fmt.Fprintf(&text, "\n### %s\n\n", section.Tag.Get("yaml"))
		if needsRestart(section.Tag.Get("yaml")) {
			text.WriteString("A change here holds after a restart.\n\n")
		}
		text.WriteString("| field | meaning |\n| --- | --- |\n")
		walkFields(t, section.Type, "", func(path, comment string) {
			if comment == "" {
				t.Errorf("%s.%s says nothing of what it means", section.Tag.Get("yaml"), path)
			}
			if slices.Contains(afterRestart, section.Tag.Get("yaml")+"."+path) {
				comment += " A change holds after a restart."
			}
			fmt.Fprintf(&text, "| `%s` | %s |\n", path, strings.ReplaceAll(comment, "|", "\\|"))
		})
	}
	return text.String()
}

// walkFields calls each with every field below a struct and its comment.
func walkFields(t *testing.T, of reflect.Type, prefix string, each func(path, comment string)) {
	comments := commentsOf(t, of)
	for _, field := range fieldsOf(of) {
		path := prefix + field.Tag.Get("yaml")
		inner := field.Type
		for structured(inner) {
			switch inner.Kind() {
			case reflect.Slice:
				path, inner = path+"[]", inner.Elem()
				continue
			case reflect.Map:
				path, inner = path+".*", inner.Elem()
				continue
			case reflect.Pointer:
				inner = inner.Elem()
				continue
			}
			break
		}
		each(path, comments[field.Name])
		if inner.Kind() == reflect.Struct && structured(inner) {
			walkFields(t, inner, path+".", each)
		}
	}
}

// structured tells whether a value has parts of its own in the file.
func structured(of reflect.Type) bool {
	if reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return false
	}
	switch of.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer:
		return true
	default:
		return false
	}
}

// parsedPackage parses the files of a package of ours.
func parsedPackage(t *testing.T, path string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", strings.TrimPrefix(path, module), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// commentsOf reads what the source says at a struct's fields. A field without a
// comment is described with the one before it.
func commentsOf(t *testing.T, of reflect.Type) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, file := range parsedPackage(t, of.PkgPath()) {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok || spec.Name.Name != of.Name() {
				return true
			}
			declared, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			before := ""
			for _, field := range declared.Fields.List {
				comment := field.Doc.Text() + field.Comment.Text()
				if comment == "" && before != "" {
					comment = "See `" + before + "`."
				}
				for _, name := range field.Names {
					comments[name.Name] = strings.Join(strings.Fields(comment), " ")
				}
				if field.Doc.Text()+field.Comment.Text() != "" && field.Tag != nil {
					before = reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("yaml")
				}
			}
			return false
		})
	}
	for i := range of.NumField() {
		if field := of.Field(i); field.Anonymous {
			maps.Copy(comments, commentsOf(t, field.Type))
		}
	}
	return comments
}

// TestEveryFieldCanBeRead reads a value into every type that a field has, of
// which decode must know all.
func TestEveryFieldCanBeRead(t *testing.T) {
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		if structured(of) && of.Kind() != reflect.Struct {
			check(of.Elem())
			return
		}
		if structured(of) {
			for i := range of.NumField() {
				if of.Field(i).Tag.Get("yaml") == "" && !of.Field(i).Anonymous || !of.Field(i).IsExported() {
					t.Errorf("%s.%s has no name in the file", of, of.Field(i).Name)
				}
				check(of.Field(i).Type)
			}
			return
		}
		setScalar(reflect.New(of).Elem(), "1") // panics for a type that it does not know
	}
	check(reflect.TypeFor[Config]())
}
