package server

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/enrichd/enrichd/enrich"
)

var updatePage = flag.Bool("update", false, "write docs/errors.md")

// remedies are what the comments of the kinds of error say.
func remedies(t *testing.T) map[enrich.ErrorKind]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../enrich/error.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	said := map[enrich.ErrorKind]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Comment != nil {
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				kind, _ := strconv.Unquote(literal.Value)
				said[enrich.ErrorKind(kind)] = strings.TrimSpace(spec.Comment.Text())
			}
		}
		return true
	})
	return said
}

// TestTheErrorsPageIsFresh prints docs/errors.md from the one table.
func TestTheErrorsPageIsFresh(t *testing.T) {
	const path = "../docs/errors.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	said := remedies(t)
	var table strings.Builder
	table.WriteString("| kind | the caller can | gRPC | HTTP |\n| --- | --- | --- | --- |\n")
	for _, kind := range enrich.ErrorKinds {
		if said[kind] == "" {
			t.Errorf("the kind %s does not say what the caller can do", kind)
		}
		code := grpcCodes[kind]
		fmt.Fprintf(&table, "| `%s` | %s | %s | %d |\n", kind, said[kind], code, runtime.HTTPStatusFromCode(code))
	}
	before, rest, found := strings.Cut(string(page), "<!-- table -->\n")
	_, after, closed := strings.Cut(rest, "<!-- end -->")
	if !found || !closed {
		t.Fatal("docs/errors.md has no marks for the table")
	}
	fresh := before + "<!-- table -->\n" + table.String() + "<!-- end -->" + after
	if *updatePage {
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if fresh != string(page) {
		t.Errorf("docs/errors.md is stale: go test ./server -run TestTheErrorsPageIsFresh -update")
	}
}
