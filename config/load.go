package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Problem is one thing in a configuration that cannot be obeyed.
type Problem struct {
	File string
	Line int    // 0 when the file does not mention the field
	Path string // the field, such as "cache.redis.address"; empty for the file
	Text string
}

// Error returns "file:line: path: text".
func (p Problem) Error() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Path != "" {
		where += ": " + p.Path
	}
	return where + ": " + p.Text
}

// Load reads the file at path over the defaults. The error joins a [Problem]
// for everything that is wrong with it.
func Load(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	return Parse(path, text)
}

// Parse reads a configuration from the text of the named file.
func Parse(file string, text []byte) (Config, error) {
	document, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Config{}, syntaxProblem(file, err)
	}
	var config Config
	if len(document.Docs) == 0 || document.Docs[0].Body == nil {
		return config, config.problems(file, nil)
	}
	if len(document.Docs) > 1 {
		return Config{}, Problem{File: file, Text: "holds more than one document"}
	}
	body := document.Docs[0].Body
	secrets := expander{file: file}
	ast.Walk(&secrets, body)
	if len(secrets.problems) > 0 {
		return Config{}, errors.Join(secrets.problems...)
	}
	if err := yaml.NodeToValue(body, &config, yaml.Strict()); err != nil {
		return Config{}, syntaxProblem(file, err)
	}
	if err := config.problems(file, body); err != nil {
		return Config{}, err
	}
	return config, nil
}

// syntaxProblem is an error of the YAML library with its position. Its long
// form repeats the file's text, which may hold secrets; it is left out.
func syntaxProblem(file string, err error) error {
	var positioned yaml.Error
	if errors.As(err, &positioned) && positioned.GetToken() != nil {
		return Problem{File: file, Line: positioned.GetToken().Position.Line, Text: positioned.GetMessage()}
	}
	return Problem{File: file, Text: err.Error()}
}

// variable matches ${NAME} and ${file:PATH} in a value.
var variable = regexp.MustCompile(`\$\{(file:)?([^}]+)\}`)

// expander replaces ${NAME} by the environment's value and ${file:PATH} by what
// the file holds, without its last line break, so that secrets need not stand
// in the configuration.
type expander struct {
	file     string
	problems []error
}

// Visit expands one node.
func (e *expander) Visit(node ast.Node) ast.Visitor {
	text, ok := node.(*ast.StringNode)
	if !ok {
		return e
	}
	text.Value = variable.ReplaceAllStringFunc(text.Value, func(match string) string {
		groups := variable.FindStringSubmatch(match)
		value, err := lookUp(groups[1] != "", groups[2])
		if err != nil {
			e.problems = append(e.problems, Problem{
				File: e.file, Line: node.GetToken().Position.Line,
				Path: strings.TrimPrefix(node.GetPath(), "$."), Text: err.Error(),
			})
		}
		return value
	})
	return e
}

func lookUp(isFile bool, name string) (string, error) {
	if isFile {
		secret, err := os.ReadFile(name)
		return strings.TrimRight(string(secret), "\r\n"), err
	}
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("the environment has no variable %s", name)
	}
	return value, nil
}

// lineOf returns the line of a field in the document, 0 if it is not there.
func lineOf(body ast.Node, path string) int {
	if body == nil {
		return 0
	}
	found, err := yaml.PathString("$." + path)
	if err != nil {
		return 0
	}
	node, err := found.FilterNode(body)
	if err != nil || node == nil {
		return 0
	}
	return node.GetToken().Position.Line
}
