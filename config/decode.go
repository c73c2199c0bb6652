package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// reading is a document on its way into a Config. It goes on after a problem, so
// that all are found at once. What it says never holds a value of the file,
// which may be a secret.
type reading struct {
	problems []Problem
	lines    map[string]int // of the fields that the file mentions
	secrets  secrets
}

// decode reads a document, nil for an empty one.
func decode(body ast.Node) (Config, *reading) {
	var config Config
	r := &reading{lines: map[string]int{}}
	if body != nil {
		r.value(body, reflect.ValueOf(&config).Elem(), "")
	}
	return config, r
}

func (r *reading) problem(at ast.Node, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{Line: lineOf(at), Path: path, Text: fmt.Sprintf(format, args...)})
}

// beside gives found problems the lines of their fields. It leaves out those of
// fields that could not be read.
func (r *reading) beside(found []Problem) (beside []Problem) {
	for _, problem := range found {
		for path := problem.Path; problem.Line == 0 && path != ""; path = parentOf(path) {
			problem.Line = r.lines[path]
		}
		unread := false
		for _, other := range r.problems {
			unread = unread || other.Path == problem.Path || strings.HasPrefix(other.Path, problem.Path+".")
		}
		if !unread {
			beside = append(beside, problem)
		}
	}
	return beside
}

func parentOf(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

func lineOf(node ast.Node) int {
	if node == nil || node.GetToken() == nil {
		return 0
	}
	return node.GetToken().Position.Line
}

// value reads a node into a value of any type that a Config may have.
func (r *reading) value(node ast.Node, into reflect.Value, path string) {
	if _, ok := r.lines[path]; !ok && path != "" {
		r.lines[path] = lineOf(node)
	}
	switch node := node.(type) {
	case *ast.NullNode:
		return
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		r.problem(node, path, "anchors, aliases and tags are not read")
		return
	}
	if _, isText := into.Addr().Interface().(encoding.TextUnmarshaler); isText {
		r.scalar(node, into, path)
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		r.fields(node, into, path)
	case reflect.Map:
		r.entries(node, into, path)
	case reflect.Slice:
		r.items(node, into, path)
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		r.value(node, into.Elem(), path)
	default:
		r.scalar(node, into, path)
	}
}

// pairs returns the keys and values of a mapping, each key once.
func (r *reading) pairs(node ast.Node, path string) (pairs []*ast.MappingValueNode) {
	var values []*ast.MappingValueNode
	switch node := node.(type) {
	case *ast.MappingNode:
		values = node.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{node}
	default:
		r.problem(node, path, "must be a mapping of names to values")
		return nil
	}
	seen := map[string]bool{}
	for _, value := range values {
		key, ok := keyOf(value)
		switch {
		case !ok:
			r.problem(value, path, "has a key that is not a plain name")
		case seen[key]:
			r.problem(value.Key, within(path, key), "stands here a second time")
		default:
			seen[key] = true
			pairs = append(pairs, value)
		}
	}
	return pairs
}

// keyOf is a key's text. Numbers and the like are names too.
func keyOf(pair *ast.MappingValueNode) (string, bool) {
	if pair.Key == nil || pair.Key.IsMergeKey() {
		return "", false
	}
	scalar, ok := pair.Key.(ast.ScalarNode)
	if !ok {
		return "", false
	}
	return textOf(scalar), true
}

func within(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// fieldsOf are the fields of a struct as the file has them: those of an embedded
// struct stand among the others.
func fieldsOf(of reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(of), func(field reflect.StructField) bool { return field.Anonymous })
}

func (r *reading) fields(node ast.Node, into reflect.Value, path string) {
	var names []string
	fields := map[string]reflect.Value{}
	for _, field := range fieldsOf(into.Type()) {
		name := field.Tag.Get("yaml")
		names, fields[name] = append(names, name), into.FieldByIndex(field.Index)
	}
	for _, pair := range r.pairs(node, path) {
		key, _ := keyOf(pair)
		at := within(path, key)
		field, known := fields[key]
		if !known {
			r.problem(pair.Key, at, "is unknown; there are %s", strings.Join(names, ", "))
			continue
		}
		r.lines[at] = lineOf(pair.Key)
		r.value(pair.Value, field, at)
	}
}

func (r *reading) entries(node ast.Node, into reflect.Value, path string) {
	into.Set(reflect.MakeMap(into.Type()))
	for _, pair := range r.pairs(node, path) {
		key, _ := keyOf(pair)
		at := within(path, key)
		r.lines[at] = lineOf(pair.Key)
		value := reflect.New(into.Type().Elem()).Elem()
		r.value(pair.Value, value, at)
		into.SetMapIndex(reflect.ValueOf(key).Convert(into.Type().Key()), value)
	}
}

func (r *reading) items(node ast.Node, into reflect.Value, path string) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		r.problem(node, path, "must be a list")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(list.Values), len(list.Values)))
	for i, item := range list.Values {
		r.value(item, into.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// scalar reads a node that is one piece of text, after putting secrets in.
func (r *reading) scalar(node ast.Node, into reflect.Value, path string) {
	scalar, ok := node.(ast.ScalarNode)
	if !ok {
		r.problem(node, path, "must be %s", described(into.Type()))
		return
	}
	text, err := r.secrets.expand(textOf(scalar))
	if err != nil {
		r.problem(node, path, "%s", err)
		return
	}
	if !setScalar(into, text) {
		r.problem(node, path, "must be %s", described(into.Type()))
	}
}

// textOf is a scalar as it was written, so that 0123 or 1e5 stay what they are
// where a text is wanted.
func textOf(scalar ast.ScalarNode) string {
	switch scalar := scalar.(type) {
	case *ast.StringNode:
		return scalar.Value
	case *ast.LiteralNode:
		return scalar.Value.Value
	default:
		return scalar.GetToken().Value
	}
}

var durationType = reflect.TypeFor[time.Duration]()

// setScalar sets a value from its text and tells whether it could.
func setScalar(into reflect.Value, text string) bool {
	if parsed, ok := into.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return parsed.UnmarshalText([]byte(text)) == nil
	}
	if into.Type() == durationType {
		parsed, err := time.ParseDuration(text)
		into.SetInt(int64(parsed))
		return err == nil
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
		return true
	case reflect.Bool:
		into.SetBool(text == "true")
		return text == "true" || text == "false"
	case reflect.Int, reflect.Int64:
		parsed, err := strconv.ParseInt(text, 0, into.Type().Bits())
		into.SetInt(parsed)
		return err == nil
	case reflect.Float64:
		parsed, err := strconv.ParseFloat(text, 64)
		into.SetFloat(parsed)
		return err == nil && !math.IsNaN(parsed) && !math.IsInf(parsed, 0)
	default:
		panic("config: no field can be a " + into.Type().String()) // TestEveryFieldCanBeRead
	}
}

// described says what a value of a type looks like.
func described(of reflect.Type) string {
	switch {
	case of == durationType:
		return "a time such as 250ms, 30s or 1h30m"
	case of == reflect.TypeFor[Log]().Field(0).Type:
		return "one of debug, info, warn, error"
	}
	switch of.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	default:
		return "one piece of text"
	}
}
