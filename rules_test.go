// Package rules holds the repository's rules as tests: which package may import
// which, where a library may be used, and that every package says its job.
package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/enrichd/enrichd"

// mayImport is the drawing of docs/architecture.md: for each top-level folder
// the folders of ours that its product code may import. cmd and app may import
// everything and are left out.
var mayImport = map[string][]string{
	"email":     {},
	"proto":     {},
	"enrich":    {"email", "proto"},
	"cache":     {"enrich", "email", "proto"},
	"quota":     {"enrich"},
	"router":    {"enrich", "email", "providers", "quota"},
	"server":    {"enrich", "proto"},
	"providers": {"enrich", "email", "proto"},
	"config":    {"email", "enrich", "cache", "quota", "router", "providers", "server"},
}

// onlyIn says in which folders a library may be used, so that it can be
// replaced in one place.
var onlyIn = map[string][]string{
	"google.golang.org/grpc":            {"server", "proto", "cmd", "examples", "loadtest"},
	"github.com/dgraph-io/ristretto/v2": {"cache"},
	"github.com/redis/go-redis/v9":      {"cache", "quota"},
	"golang.org/x/time/rate":            {"quota", "loadtest"},
	"github.com/sony/gobreaker/v2":      {"router", "cache"},
	"testing":                           {"cache/redistest"},
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

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	fileSet := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
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
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files found: the rules were not checked", len(all))
	}
	return all
}

func TestImportsFollowTheDrawing(t *testing.T) {
	for _, source := range sources(t) {
		if source.isTest() {
			continue
		}
		allowed, restricted := mayImport[source.folder]
		for _, spec := range source.file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			inside, ours := strings.CutPrefix(path, module+"/")
			folder, _, _ := strings.Cut(inside, "/")
			if ours && restricted && folder != source.folder && !slices.Contains(allowed, folder) {
				t.Errorf("%s imports %s: %s may import %v only", source.path, path, source.folder, allowed)
			}
		}
	}
}

func TestLibrariesStayInTheirPlace(t *testing.T) {
	for _, source := range sources(t) {
		if source.isTest() {
			continue
		}
		for _, spec := range source.file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
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
		if count != 1 && !strings.HasPrefix(pkg, "proto/") {
			t.Errorf("package %s has %d package comments, want 1", pkg, count)
		}
	}
}

func TestFilesStayReadable(t *testing.T) {
	for _, source := range sources(t) {
		if source.lines > 400 && !source.isGenerated() && !source.isTest() {
			t.Errorf("%s has %d lines: split it by noun before 400", source.path, source.lines)
		}
	}
}
