package email

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestDocumented makes sure that docs/addresses.md names every class, switch
// and repair.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/addresses.md")
	if err != nil {
		t.Fatal(err)
	}
	words := classes(t)
	if len(words) < 20 {
		t.Errorf("found %d classes only", len(words))
	}
	words = append(words, repairNames[:]...)
	for _, typ := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[List]()} {
		for i := range typ.NumField() {
			words = append(words, typ.Field(i).Tag.Get("yaml"))
		}
	}
	for _, w := range words {
		if w == "" || !strings.Contains(string(page), "`"+w+"`") {
			t.Errorf("docs/addresses.md does not name %q", w)
		}
	}
}

// classes reads the constants of type Class from the source.
func classes(t *testing.T) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Class" {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, text)
			}
		}
		return true
	})
	return found
}

// TestRepairsInOrder makes sure that names and bits belong together.
func TestRepairsInOrder(t *testing.T) {
	all := repairs(1<<len(repairNames) - 1)
	if repairIDNA != 1<<(len(repairNames)-1) || len(all.names()) != len(repairNames) {
		t.Error("there is not one name for each repair")
	}
	a, err := Normalize("&lt;\u200bMAILTO:Jane&gt;; <mailto:\uff2aohn@B\u00fccher.example>,")
	if err != nil {
		t.Fatal(err)
	}
	want := "width_fold html_unescape strip_prefix unwrap_angle strip_separator lowercase idna"
	if got := strings.Join(a.Repairs(), " "); !strings.HasPrefix(got, "strip_invisible "+want) {
		t.Errorf("repairs %s, want %s", got, want)
	}
}
