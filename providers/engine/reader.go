package engine

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/enrichd/enrichd/providers/forms"
)

// reader reads a definition from its YAML tree. It goes on after a problem, so
// that all of them are reported at once.
type reader struct {
	file     string
	anchors  map[string]ast.Node
	aliases  int // followed so far
	problems Problems
	about    *Definition
	inCall   *Call             // that is being read, nil outside
	captures map[string]bool   // names of captured values
	used     map[variable]bool // under auth
	secrets  []ast.Node
	inAuth   bool
	// later holds checks that need more than has been read so far.
	later []func()
}

func newReader(file string, data []byte) (*reader, ast.Node) {
	r := &reader{file: file, anchors: map[string]ast.Node{}, captures: map[string]bool{}, used: map[variable]bool{}}
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	switch {
	case err != nil:
		r.problems = append(r.problems, syntaxProblem(file, err))
		return r, nil
	case len(tree.Docs) != 1 || tree.Docs[0].Body == nil:
		r.problems = append(r.problems, Problem{File: file, Text: "a definition is one YAML document"})
		return r, nil
	}
	root := tree.Docs[0].Body
	ast.Walk(anchorCollector{r}, root)
	return r, root
}

// syntaxProblem takes the line out of the YAML parser's message, which begins
// with "[line:column]".
func syntaxProblem(file string, err error) Problem {
	message, _, _ := strings.Cut(err.Error(), "\n")
	problem := Problem{File: file, Text: message}
	if position, text, ok := strings.Cut(strings.TrimPrefix(message, "["), "] "); ok {
		if line, err := strconv.Atoi(strings.SplitN(position, ":", 2)[0]); err == nil {
			problem.Line, problem.Text = line, text
		}
	}
	return problem
}

type anchorCollector struct{ r *reader }

func (c anchorCollector) Visit(node ast.Node) ast.Visitor {
	if anchor, ok := node.(*ast.AnchorNode); ok {
		c.r.anchors[anchor.Name.GetToken().Value] = anchor.Value
	}
	return c
}

func (r *reader) problem(at ast.Node, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: lineOf(at), Text: fmt.Sprintf(format, args...)})
}

func lineOf(node ast.Node) int { return node.GetToken().Position.Line }

// maxAliases bounds what aliases add to a definition: they may stand within
// each other, and within their own anchor.
const maxAliases = 2000

// resolve follows anchors and aliases.
func (r *reader) resolve(node ast.Node) ast.Node {
	for {
		switch at := node.(type) {
		case *ast.AnchorNode:
			node = at.Value
		case *ast.AliasNode:
			name := at.Value.GetToken().Value
			target, known := r.anchors[name]
			if r.aliases++; r.aliases == maxAliases {
				r.problem(at, "there are too many aliases, or %q stands within itself", name)
			}
			if !known {
				r.problem(at, "there is no anchor %q above", name)
			}
			if !known || r.aliases >= maxAliases {
				return &ast.NullNode{BaseNode: &ast.BaseNode{}, Token: at.GetToken()}
			}
			node = target
		default:
			return node
		}
	}
}

// pair is one entry of a mapping.
type pair struct {
	key   string
	at    ast.Node // the key
	value ast.Node
}

// pairs returns the entries of a mapping in the order of the file.
func (r *reader) pairs(node ast.Node) []pair {
	node = r.resolve(node)
	var values []*ast.MappingValueNode
	switch at := node.(type) {
	case *ast.MappingNode:
		values = at.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{at}
	case *ast.NullNode:
		return nil
	default:
		r.problem(node, "must be a mapping")
		return nil
	}
	pairs := make([]pair, len(values))
	for i, value := range values {
		key := r.resolve(value.Key)
		pairs[i] = pair{key: r.scalar(key), at: key, value: r.resolve(value.Value)}
		if earlier := slices.IndexFunc(pairs[:i], func(p pair) bool { return p.key == pairs[i].key }); earlier >= 0 {
			r.problem(key, "%s stands here twice, first in line %d", pairs[i].key, lineOf(pairs[earlier].at))
		}
	}
	return pairs
}

// fields reads a mapping whose keys are fixed.
func (r *reader) fields(node ast.Node, known map[string]func(ast.Node)) {
	for _, pair := range r.pairs(node) {
		if read, ok := known[pair.key]; ok {
			before := len(r.problems)
			read(pair.value)
			r.nameKey(pair.key, before)
			continue
		}
		r.problem(pair.at, "unknown key %q; known here: %s", pair.key, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
}

// nameKey puts the key before what "must be" of its value, in the problems since
// the first so many.
func (r *reader) nameKey(key string, since int) {
	for i := since; i < len(r.problems); i++ {
		if one := &r.problems[i]; strings.HasPrefix(one.Text, "must ") || strings.HasPrefix(one.Text, `"`) && strings.Contains(one.Text, `" must `) {
			one.Text = key + ": " + one.Text
		}
	}
}

// items returns the elements of a list; a single value is a list of one.
func (r *reader) items(node ast.Node) []ast.Node {
	node = r.resolve(node)
	switch at := node.(type) {
	case *ast.SequenceNode:
		items := make([]ast.Node, len(at.Values))
		for i, value := range at.Values {
			items[i] = r.resolve(value)
		}
		return items
	case *ast.NullNode:
		return nil
	default:
		return []ast.Node{node}
	}
}

// scalar returns a scalar as it stands in the file.
func (r *reader) scalar(node ast.Node) string {
	switch at := r.resolve(node).(type) {
	case *ast.StringNode:
		return at.Value
	case *ast.LiteralNode:
		return at.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return at.GetToken().Value
	case *ast.NullNode:
		return ""
	default:
		r.problem(node, "must be a single value")
		return ""
	}
}

// text reads a text that may not be empty.
func (r *reader) text(node ast.Node) string {
	text := r.scalar(node)
	if text == "" {
		r.problem(node, "must not be empty")
	}
	return text
}

// header reads the name of a header, in the spelling that net/http needs to
// find one without spelling it anew.
func (r *reader) header(node ast.Node) string { return http.CanonicalHeaderKey(r.text(node)) }

func (r *reader) texts(node ast.Node) []string {
	var texts []string
	for _, item := range r.items(node) {
		texts = append(texts, r.text(item))
	}
	return texts
}

func (r *reader) boolean(node ast.Node) bool {
	at, ok := r.resolve(node).(*ast.BoolNode)
	if !ok {
		r.problem(node, "must be true or false")
		return false
	}
	return at.Value
}

// float reads a number that is not negative.
func (r *reader) float(node ast.Node) float64 {
	number, err := strconv.ParseFloat(r.scalar(node), 64)
	if err != nil || number < 0 {
		r.problem(node, "must be a number, 0 or more")
		return 0
	}
	return number
}

// whole reads a whole number that is not negative.
func (r *reader) whole(node ast.Node) int64 {
	number, err := strconv.ParseInt(r.scalar(node), 10, 64)
	if err != nil || number < 0 {
		r.problem(node, "must be a whole number, 0 or more")
		return 0
	}
	return number
}

// duration reads a Go duration that is not negative.
func (r *reader) duration(node ast.Node) time.Duration {
	duration, err := time.ParseDuration(r.scalar(node))
	if err != nil || duration < 0 {
		r.problem(node, "must be a duration such as 500ms, 30s or 5m")
		return 0
	}
	return duration
}

// oneOf reads one of a few words.
func (r *reader) oneOf(node ast.Node, words ...string) string {
	word := r.scalar(node)
	if !slices.Contains(words, word) {
		r.problem(node, "%q must be one of: %s", word, strings.Join(words, ", "))
		return ""
	}
	return word
}

// zone reads the name of a time zone.
func (r *reader) zone(node ast.Node) string {
	zone := r.text(node)
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		r.problem(node, "must be a time zone such as UTC or Europe/Berlin")
	}
	return zone
}

func (r *reader) timeOfDay(node ast.Node) string {
	text := r.text(node)
	if _, err := time.Parse("15:04", text); err != nil {
		r.problem(node, "must be a time of day such as 06:00")
	}
	return text
}

// currency reads a code of ISO 4217.
func (r *reader) currency(node ast.Node) string {
	code := r.text(node)
	if !forms.IsCurrency(code) {
		r.problem(node, "must be the code of a currency such as USD")
	}
	return code
}
