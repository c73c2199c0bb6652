// Package rules holds the repository's rules as tests: which package may import
// which, where a library may be used, and that every package says its job.
package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/enrichd/enrichd"

// anything allows every import of ours.
var anything = []string{"*"}

// mayImport is the drawing of docs/architecture.md: for each top-level folder
// with Go files the folders of ours that its product code may import.
var mayImport = map[string][]string{
	"email":       {},
	"proto":       {},
	"enrich":      {"email", "proto"},
	"record":      {"enrich"},
	"cache":       {"enrich", "email", "redisconn", "record"},
	"quota":       {"enrich", "redisconn", "heldfile"},
	"router":      {"enrich", "email", "providers", "quota"},
	"server":      {"email", "enrich", "proto", "ledger", "jobs", "deadletter", "intake", "sinks"},
	"providers":   {"enrich", "email", "proto"},
	"config":      {"email", "enrich", "cache", "quota", "router", "providers", "server", "telemetry", "accounts", "privacy", "idempotency", "ledger", "jobs", "intake", "sinks", "deadletter"},
	"redisconn":   {"tlsclient"},
	"tlsclient":   {},
	"heldfile":    {},
	"accounts":    {"enrich"},
	"idempotency": {"email", "enrich", "redisconn"},
	"ledger":      {"enrich", "email", "record", "heldfile"},
	"jobs":        {"enrich", "email", "ledger", "sinks"},
	"intake":      {"enrich", "jobs", "ledger", "sinks"},
	"sinks":       {"heldfile"},
	"deadletter":  {"enrich", "ledger", "sinks"},
	"privacy":     {"email", "enrich", "redisconn"},
	"telemetry":   {"enrich", "cache", "quota", "router"},
	"app":         anything,
	"cmd":         anything,
	"examples":    {"proto"},
	"loadtest":    anything,
}

// onlyIn says in which folders a library may be used, so that it can be
// replaced in one place.
var onlyIn = map[string][]string{
	"google.golang.org/grpc":                   {"server", "proto", "cmd", "examples", "loadtest"},
	"github.com/dgraph-io/ristretto/v2":        {"cache"},
	"github.com/redis/go-redis/v9":             {"cache", "quota", "redisconn", "privacy", "idempotency", "loadtest/bench/floor"},
	"golang.org/x/time/rate":                   {"quota", "loadtest"},
	"github.com/sony/gobreaker/v2":             {"router", "cache", "sinks"},
	"github.com/fsnotify/fsnotify":             {"config"},
	"github.com/prometheus":                    {"telemetry"},
	"go.opentelemetry.io/otel/sdk":             {"telemetry"},
	"github.com/riverqueue/river":              {"jobs"},
	"github.com/pressly/goose/v3":              {"ledger"},
	"modernc.org/sqlite":                       {"ledger"},
	"github.com/jackc/pgx/v5":                  {"ledger"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"intake"},
	"testing": {"cache/redistest", "ledger/pgtest"},
}

// source is one parsed file of the repository.
type source struct {
	path   string // slash-separated, from the root
	folder string // top-level
	lines  int
	file   *ast.File
}

func (s source) isTest() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s source) isGenerated() bool { return ast.IsGenerated(s.file) }
func (s source) pkg() string       { return filepath.ToSlash(filepath.Dir(s.path)) }

func (s source) imports() (paths []string) {
	for _, spec := range s.file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// importName is the name under which the file knows a package of the standard
// library; empty when it does not import it.
func (s source) importName(path string) string {
	for i, imported := range s.imports() {
		if imported != path {
			continue
		}
		if name := s.file.Imports[i].Name; name != nil {
			return name.Name
		}
		return path
	}
	return ""
}

func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files found: the rules were not checked", len(all))
	}
	return all
}

// parsed parses every Go file of the repository, once.
var parsed = sync.OnceValues(func() (all []source, err error) {
	fileSet := token.NewFileSet()
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(fileSet, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(path)
		folder, _, _ := strings.Cut(slashed, "/")
		all = append(all, source{path: slashed, folder: folder, lines: fileSet.File(file.FileStart).LineCount(), file: file})
		return nil
	})
	return all, err
})

func TestImportsFollowTheDrawing(t *testing.T) {
	for _, source := range sources(t) {
		if source.isTest() {
			continue
		}
		for _, path := range source.imports() {
			inside, ours := strings.CutPrefix(path, module+"/")
			folder, _, _ := strings.Cut(inside, "/")
			if allowed := mayImport[source.folder]; ours && folder != source.folder && !slices.Contains(allowed, folder) && !slices.Equal(allowed, anything) {
				t.Errorf("%s imports %s: %s may import %v only", source.path, path, source.folder, allowed)
			}
		}
	}
}

func TestEveryFolderIsInTheDrawing(t *testing.T) {
	with := map[string]bool{}
	for _, source := range sources(t) {
		if strings.Contains(source.path, "/") {
			with[source.folder] = true
		}
	}
	for folder := range with {
		if _, drawn := mayImport[folder]; !drawn {
			t.Errorf("%s/ is not in mayImport: say what it may import", folder)
		}
	}
	for folder := range mayImport {
		if !with[folder] {
			t.Errorf("mayImport names %s/, which has no Go files", folder)
		}
	}
}

// TestNobodySleeps keeps waits out that no context can end.
func TestNobodySleeps(t *testing.T) {
	for _, source := range sources(t) {
		name := source.importName("time")
		if source.isTest() || name == "" {
			continue
		}
		ast.Inspect(source.file, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "Sleep" {
				if of, ok := selector.X.(*ast.Ident); ok && of.Name == name {
					t.Errorf("%s uses time.Sleep: wait for a timer or the context, whichever is first", source.path)
				}
			}
			return true
		})
	}
}

// TestGeneratedFilesHaveASource finds files that were generated from a contract
// that is no longer there.
func TestGeneratedFilesHaveASource(t *testing.T) {
	generated := 0
	for _, source := range sources(t) {
		if !source.isGenerated() {
			continue
		}
		generated++
		text, err := os.ReadFile(source.path)
		if err != nil {
			t.Fatal(err)
		}
		_, from, _ := strings.Cut(string(text), "// source: ")
		from, _, _ = strings.Cut(from, "\n")
		if _, err := os.Stat(filepath.Join("proto", from)); from == "" || err != nil {
			t.Errorf("%s was generated from %q, which is not in proto/", source.path, from)
		}
	}
	if generated == 0 {
		t.Error("no generated file found")
	}
}

func TestLibrariesStayInTheirPlace(t *testing.T) {
	for _, source := range sources(t) {
		if source.isTest() {
			continue
		}
		for _, path := range source.imports() {
			for library, places := range onlyIn {
				if path != library && !strings.HasPrefix(path, library+"/") {
					continue
				}
				if !slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(source.pkg()+"/", place+"/") }) {
					t.Errorf("%s imports %s, which belongs in %v", source.path, path, places)
				}
			}
		}
	}
}

func TestEveryPackageSaysItsJobOnce(t *testing.T) {
	comments := map[string]int{}
	for _, source := range sources(t) {
		if source.isTest() && source.pkg() != "." {
			continue
		}
		comments[source.pkg()] += 0
		if source.file.Doc != nil {
			comments[source.pkg()]++
		}
	}
	for pkg, count := range comments {
		// The generator writes a comment into each of its gateway's files.
		if count != 1 && (count == 0 || !strings.HasPrefix(pkg, "proto/")) {
			t.Errorf("package %s has %d package comments, want 1", pkg, count)
		}
	}
}

func TestFilesStayReadable(t *testing.T) {
	for _, source := range sources(t) {
		most := 400
		if source.isTest() {
			most = 500
		}
		if source.lines > most && !source.isGenerated() {
			t.Errorf("%s has %d lines: split it by noun before %d", source.path, source.lines, most)
		}
	}
}
