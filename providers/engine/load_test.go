package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBrokenDefinitions loads definitions whose wrong lines say what is wrong
// with them: "# !! text" for one problem, "; !! text" for more. All of them
// must be reported at once, and nothing else.
func TestBrokenDefinitions(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		if filepath.Base(file) == "syntax.yaml" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			problems := problemsOf(t, file, data)
			for i, line := range strings.Split(string(data), "\n") {
				_, wanted, marked := strings.Cut(line, "# !! ")
				if !marked {
					continue
				}
				for _, want := range strings.Split(wanted, "; !! ") {
					problems = without(t, problems, i+1, want)
				}
			}
			for _, problem := range problems {
				t.Errorf("not expected: %v", problem)
			}
		})
	}
}

func problemsOf(t *testing.T, file string, data []byte) Problems {
	t.Helper()
	_, err := Load(file, data)
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v is not a list of problems", err)
	}
	return problems
}

func without(t *testing.T, problems Problems, line int, want string) Problems {
	t.Helper()
	for i, problem := range problems {
		if problem.Line == line && strings.Contains(problem.Text, want) {
			return append(problems[:i:i], problems[i+1:]...)
		}
	}
	t.Errorf("line %d: %q is not reported", line, want)
	return problems
}

func TestSyntaxProblemsHaveALine(t *testing.T) {
	data, err := os.ReadFile("testdata/broken/syntax.yaml")
	if err != nil {
		t.Fatal(err)
	}
	problems := problemsOf(t, "syntax.yaml", data)
	if len(problems) != 1 || problems[0].Line != 2 || !strings.HasPrefix(problems[0].Error(), "syntax.yaml:2: ") {
		t.Errorf("%v", problems)
	}
	for _, empty := range []string{"", "# nothing\n", "a: 1\n---\nb: 2\n"} {
		problemsOf(t, "x.yaml", []byte(empty))
	}
}

// TestAliasesAreBounded loads definitions whose aliases lead in a circle, or
// multiply.
func TestAliasesAreBounded(t *testing.T) {
	circle := "name: x\nauth: {body: &a {b: [*a, *a]}}\n"
	laughs := "name: x\nsources: &a0 [a, b]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("x%d: &a%d [*a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i)
	}
	laughs += "auth: {body: {b: *a30}}\n"
	for _, text := range []string{circle, laughs} {
		problems := problemsOf(t, "x.yaml", []byte(text))
		if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Text, "too many aliases") }) {
			t.Errorf("%v", problems)
		}
	}
}

func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("../definitions/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if definition, err := Load("fuzzed.yaml", data); (definition == nil) == (err == nil) {
			t.Error("neither a definition nor problems")
		}
	})
}
