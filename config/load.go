package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a file. They leave room for any real one, and keep a broken one
// from taking all memory.
const (
	mostBytes  = 1 << 20
	mostMarks  = 100_000 // bytes with a meaning in YAML, such as [ and :
	mostTokens = 50_000
	mostDepth  = 64 // of lists and mappings in each other
)

// Problem is one thing in a configuration that cannot be obeyed.
type Problem struct {
	File string
	Line int    // 0 when the file does not mention the field
	Path string // the field, such as "cache.redis.addresses[0]"; empty for the file
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
	config, _, err := LoadFiles(path)
	return config, err
}

// LoadFiles is [Load] that also returns, with an error too, the files and
// folders on which the result depends: the file itself, those of secrets, and
// the operator's definitions.
func LoadFiles(path string) (config Config, files []string, err error) {
	files = []string{path}
	file, err := os.Open(path)
	if err != nil {
		return Config{}, files, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err != nil {
		return Config{}, files, err
	}
	config, further, err := read(path, text)
	return config, append(files, further...), err
}

// Parse reads a configuration from the text of the named file.
func Parse(file string, text []byte) (Config, error) {
	config, _, err := read(file, text)
	return config, err
}

// read reads a configuration and lists the further files that it depends on.
func read(file string, text []byte) (config Config, files []string, err error) {
	body, err := parse(file, text)
	if err != nil {
		return Config{}, nil, err
	}
	config, read := decode(body)
	files = append(read.secrets.files, config.Providers.Files()...)
	found := config.problems()
	if _, written := read.lines["store"]; written && !config.AcceptsLeads() {
		found = append(found, Problem{Path: "store", Text: "says nothing: name path or postgresql, or leave the section out if leads are not accepted"})
	}
	problems := append(read.problems, read.beside(found)...)
	if len(problems) == 0 {
		return config, files, nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	var all []error
	for _, problem := range problems {
		problem.File = file
		all = append(all, problem)
	}
	return Config{}, files, errors.Join(all...)
}

// parse returns the document of a file, nil when it is empty.
func parse(file string, text []byte) (ast.Node, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // as some editors write it
	switch {
	case len(text) > mostBytes:
		return nil, Problem{File: file, Text: fmt.Sprintf("is longer than %d bytes", mostBytes)}
	case !utf8.Valid(text) || slices.Contains(text, 0):
		return nil, Problem{File: file, Text: "is not UTF-8 text"}
	case marks(text) > mostMarks:
		return nil, Problem{File: file, Text: "is too large a structure"}
	}
	tokens := lexer.Tokenize(string(text))
	if len(tokens) > mostTokens {
		return nil, Problem{File: file, Text: "is too large a structure"}
	}
	if at := tooDeep(tokens); at != nil {
		return nil, Problem{File: file, Line: at.Position.Line, Text: fmt.Sprintf("nests deeper than %d levels", mostDepth)}
	}
	document, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // decode reports them all
	switch {
	case err != nil:
		return nil, syntaxProblem(file, err)
	case len(document.Docs) == 0:
		return nil, nil
	case len(document.Docs) > 1:
		return nil, Problem{File: file, Text: "holds more than one document"}
	}
	return document.Docs[0].Body, nil
}

func marks(text []byte) (count int) {
	for _, b := range text {
		switch b {
		case '[', ']', '{', '}', ':', '-', '?', ',', '&', '*', '!':
			count++
		}
	}
	return count
}

// tooDeep returns the token that goes too deep; nil when none does. The parser
// takes time that grows with the square of the depth.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, run := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		nests := t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType
		switch {
		case nests && i > 0 && tokens[i-1].Position.Line == t.Position.Line:
			run++ // a list in a list
		case nests:
			run = 1
		}
		if flow+run > mostDepth {
			return t
		}
	}
	return nil
}

// syntaxProblem is an error of the YAML library with its position. Its long
// form repeats the file's text, which may hold secrets; it is left out.
func syntaxProblem(file string, err error) error {
	var positioned yaml.Error
	if errors.As(err, &positioned) && positioned.GetToken() != nil {
		return Problem{File: file, Line: positioned.GetToken().Position.Line, Text: positioned.GetMessage()}
	}
	return Problem{File: file, Text: "is not YAML"}
}
