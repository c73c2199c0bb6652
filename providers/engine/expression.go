package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/enrichd/enrichd/providers/forms"
)

// Expression is a rule or mapping too involved for a path, in the language of
// expr-lang. Members of what is missing are nil instead of an error. What one
// evaluation may cost is bounded: the size of the expression, its memory, and
// no loop inside a loop.
type Expression struct {
	text    string
	line    int
	program *vm.Program
}

// view is what an expression sees of an answer.
type view struct {
	Status   int               `expr:"status"`
	Header   map[string]string `expr:"header"` // names in lower case
	Type     string            `expr:"type"`
	Raw      string            `expr:"raw"`
	Body     any               `expr:"body"`
	Record   any               `expr:"record"`
	Step     string            `expr:"step"`
	Email    string            `expr:"email"`
	Domain   string            `expr:"domain"`
	Captured map[string]string `expr:"captured"`

	trace *Trace
}

const (
	maxNodes       = 200
	maxExpressions = 1000 // characters
)

// builtins are the functions of the language that cost no more than their
// input is long.
var builtins = []string{
	"all", "none", "any", "one", "filter", "map", "find", "findLast", "count", "len", "abs", "ceil", "floor", "round",
	"int", "float", "string", "trim", "trimPrefix", "trimSuffix", "upper", "lower", "split", "join", "indexOf",
	"hasPrefix", "hasSuffix", "max", "min", "first", "last", "keys", "values", "sortBy", "sort", "reverse", "concat", "flatten",
}

// functions are ours.
var functions = []expr.Option{
	expr.Function("at", func(args ...any) (any, error) { return member(args[0], args[1]), nil }, new(func(any, any) any)),
	expr.Function("isList", func(args ...any) (any, error) {
		_, is := args[0].([]any)
		return is, nil
	}, new(func(any) bool)),
	expr.Function("isObject", func(args ...any) (any, error) {
		_, is := args[0].(map[string]any)
		return is, nil
	}, new(func(any) bool)),
	expr.Function("text", func(args ...any) (any, error) {
		text, _ := forms.ScalarText(args[0])
		return text, nil
	}, new(func(any) string)),
	expr.Function("number", func(args ...any) (any, error) {
		text, _ := forms.ScalarText(args[0])
		number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, nil
		}
		return number, nil
	}, new(func(any) any)),
}

// compileExpression compiles text; a condition must be true or false.
func compileExpression(text string, condition bool) (Expression, error) {
	if len(text) > maxExpressions {
		return Expression{}, fmt.Errorf("an expression has at most %d characters", maxExpressions)
	}
	guard := &guard{}
	options := append([]expr.Option{
		expr.Env(view{}), expr.MaxNodes(maxNodes), expr.Patch(guard), expr.DisableAllBuiltins(),
	}, functions...)
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	if condition {
		options = append(options, expr.AsBool())
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		return Expression{}, fmt.Errorf("expression: %s", message)
	}
	if guard.problem != nil {
		return Expression{}, fmt.Errorf("expression: %w", guard.problem)
	}
	return Expression{text: text, program: program}, nil
}

// value evaluates the expression, and is false where it cannot be evaluated.
func (e Expression) value(v *view) (any, bool) {
	value, err := expr.Run(e.program, v)
	if v.trace != nil {
		v.trace.note(e, err)
	}
	return value, err == nil
}

// holds evaluates a condition; what cannot be evaluated does not hold.
func (e Expression) holds(v *view) bool {
	value, _ := e.value(v)
	holds, _ := value.(bool)
	return holds
}

// guard makes member access safe and refuses what is not bounded.
type guard struct{ problem error }

// Visit is called for every node, children first.
func (g *guard) Visit(node *ast.Node) {
	switch at := (*node).(type) {
	case *ast.MemberNode:
		ast.Patch(node, &ast.CallNode{
			Callee:    &ast.IdentifierNode{Value: "at"},
			Arguments: []ast.Node{at.Node, at.Property},
		})
	case *ast.BuiltinNode:
		// The language's switch leaves those that take a predicate on.
		if !slices.Contains(builtins, at.Name) {
			g.refuse(fmt.Errorf("there is no function %s here", at.Name))
		}
	case *ast.PredicateNode:
		loop := &loopGuard{}
		ast.Walk(&at.Node, loop)
		g.refuse(loop.problem)
	case *ast.BinaryNode:
		if _, constant := at.Right.(*ast.StringNode); at.Operator == "matches" && !constant {
			g.refuse(errors.New("the pattern of matches must be written out"))
		}
	}
}

func (g *guard) refuse(problem error) {
	if g.problem == nil {
		g.problem = problem
	}
}

// loopGuard allows in the body of a loop only its element and short values.
type loopGuard struct{ problem error }

func (g *loopGuard) Visit(node *ast.Node) {
	switch at := (*node).(type) {
	case *ast.PredicateNode:
		g.problem = errors.New("a loop inside a loop has no bound")
	case *ast.IdentifierNode:
		if slices.Contains([]string{"body", "record", "raw", "header"}, at.Value) {
			g.problem = fmt.Errorf("inside a loop %s may not be used: take it out of the loop first", at.Value)
		}
	}
}

// member returns a member of an object or list, nil when there is none.
func member(of, key any) any {
	switch of := of.(type) {
	case map[string]any:
		name, _ := key.(string)
		return of[name]
	case map[string]string:
		name, _ := key.(string)
		return of[name]
	case []any:
		index, ok := key.(int)
		if index < 0 {
			index += len(of)
		}
		if ok && index >= 0 && index < len(of) {
			return of[index]
		}
	}
	return nil
}
