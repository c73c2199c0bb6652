package engine

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/forms"
)

func needsCountry(spec enrich.Spec) bool { return spec.Shape == enrichv1.Form_FORM_PHONE }

func isRange(spec enrich.Spec) bool {
	return spec.Shape == enrichv1.Form_FORM_MONEY_RANGE || spec.Attribute == employeeRange
}

// mappings reads the attributes of a call.
func (r *reader) mappings(node ast.Node) []*mapping {
	var mappings []*mapping
	for _, pair := range r.pairs(node) {
		attribute := r.attribute(pair.at)
		spec, known := enrich.SpecOf(attribute)
		if !known {
			continue
		}
		one := &mapping{spec: spec, line: lineOf(pair.at)}
		for _, item := range r.items(pair.value) {
			one.sources = append(one.sources, r.source(item, spec))
		}
		if len(one.sources) == 0 {
			r.problem(pair.at, "%s has no source", attribute)
		}
		mappings = append(mappings, one)
	}
	return mappings
}

// source reads one source: a path, or a mapping with more to say.
func (r *reader) source(node ast.Node, spec enrich.Spec) source {
	s := source{}
	if _, plain := r.resolve(node).(*ast.StringNode); plain {
		path := r.path(node)
		s.path = &path
		return s
	}
	kinds, ownWords := 0, false
	kind := func(read func(ast.Node)) func(ast.Node) {
		return func(n ast.Node) { kinds++; read(n) }
	}
	var words ast.Node
	common, strip := false, ""
	r.fields(node, map[string]func(ast.Node){
		"path":        kind(func(n ast.Node) { path := r.path(n); s.path = &path }),
		"expr":        kind(func(n ast.Node) { s.expression = r.expression(n, false) }),
		"range":       kind(func(n ast.Node) { s.ends = r.rangeEnds(n, spec) }),
		"value":       kind(func(n ast.Node) { s.value = r.text(n) }),
		"only":        func(n ast.Node) { s.only = r.condition(n) },
		"masked":      func(n ast.Node) { s.masked = r.condition(n) },
		"words":       func(n ast.Node) { words, ownWords = n, true },
		"other_words": func(n ast.Node) { common = r.oneOf(n, "common", "drift") == "common" },
		"strip":       func(n ast.Node) { strip = r.text(n); ownWords = true },
		"case":        func(n ast.Node) { s.titleCase = r.oneOf(n, "title") == "title" },
		"money":       func(n ast.Node) { s.currency = r.currency(n) },
		"country":     func(n ast.Node) { path := r.path(n); s.country = &path },
		"confidence":  func(n ast.Node) { s.confidence = r.confidence(n) },
		"missing":     func(n ast.Node) { s.missing = r.missing(n) },
	})
	if kinds != 1 {
		r.problem(node, "a source is one of: path, expr, range, value")
	}
	if s.value != "" && !s.isAlwaysMasked() {
		if _, verdict := forms.Read(spec, s.value, forms.Context{Words: forms.NewVocabulary(true, ""), Currency: "USD", Now: time.Now()}); verdict != forms.OK {
			r.problem(node, "%q is no value of %s", s.value, spec.Attribute)
		}
	}
	if ownWords {
		s.words = r.vocabulary(words, spec, common || words == nil, strip, node)
	}
	return s
}

// isAlwaysMasked tells whether the source only says that an attribute is
// unknown.
func (s *source) isAlwaysMasked() bool { return s.masked != nil && s.masked.isOpen() }

func (r *reader) missing(node ast.Node) missing {
	return missing(r.oneOf(node, string(missingIsDrift), string(missingIsAbsent), string(missingIsUnknown)))
}

func (r *reader) rangeEnds(node ast.Node, spec enrich.Spec) []Path {
	ends := r.paths(node)
	if len(ends) != 2 || !isRange(spec) {
		r.problem(node, "a range has two paths and belongs to a range attribute")
		return make([]Path, 2)
	}
	return ends
}

// absentWord stands in definitions for "a known word without a value of ours".
const absentWord = "absent"

// vocabulary reads "our word: their words".
func (r *reader) vocabulary(words ast.Node, spec enrich.Spec, common bool, strip string, at ast.Node) *forms.Vocabulary {
	vocabulary := forms.NewVocabulary(common, strip)
	if spec.Form != enrich.Word || spec.Attribute == employeeRange {
		r.problem(at, "%s has no words", spec.Attribute)
		return vocabulary
	}
	if words == nil {
		return vocabulary
	}
	for _, pair := range r.pairs(words) {
		ours := pair.key
		switch {
		case ours == absentWord:
			ours = ""
		case !slices.Contains(spec.Words, ours):
			r.problem(pair.at, "%q is not a word of %s", ours, spec.Attribute)
		}
		for _, theirs := range r.texts(pair.value) {
			vocabulary.Add(theirs, ours)
		}
	}
	return vocabulary
}
