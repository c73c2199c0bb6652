package engine

import (
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/forms"
)

// mapping is where one attribute stands in a record: sources in order, the
// next being tried only when the vendor sent nothing in the one before.
type mapping struct {
	spec    enrich.Spec
	sources []source
	line    int
}

// source is one place of a value and how to read it.
type source struct {
	path       *Path
	expression *Expression
	ends       []Path // of a range: from, to
	value      string // fixed, where masked and only decide
	only       *Condition
	masked     *Condition
	words      *forms.Vocabulary
	titleCase  bool
	currency   string
	country    *Path
	confidence *confidence
	missing    missing
}

// missing is what it means that a field is not in an answer at all.
type missing string

const (
	// missingIsDrift: the vendor always sends the field, empty if need be. So
	// it was renamed or removed.
	missingIsDrift missing = "drift"
	// missingIsAbsent: the vendor leaves empty fields out.
	missingIsAbsent missing = "absent"
	// missingIsUnknown: the field is not sent on every plan.
	missingIsUnknown missing = "unknown"
)

// finding is what a mapping made of a record.
type finding struct {
	attribute  enrich.Attribute
	value      enrich.Value
	confidence float64
	state      state
	// drift tells that the field of the attribute named changed; "" if none.
	drift enrich.Attribute
}

// fact states a finding that is present.
func (f *finding) fact() enrich.Fact {
	return enrich.Fact{Attribute: f.attribute, State: enrich.StateValue, Value: f.value, Confidence: f.confidence}
}

// note notes a drift of the finding's own field.
func (f *finding) note(drift bool) {
	if drift {
		f.drift = f.attribute
	}
}

// state is what is known about an attribute after an answer.
type state int

const (
	unknown state = iota
	absent
	present
)

// mapper maps one answer.
type mapper struct {
	answer *Answer
	scope  *Scope
	step   *Step
	// countries of the record, as phone numbers need them, read at most once.
	countries map[enrich.SubjectKind]string
	// sure is the definition's own confidence, read at most once.
	sure *float64
}

// find maps one attribute.
func (m *mapper) find(mapping *mapping) finding {
	result := finding{attribute: mapping.spec.Attribute, state: absent}
	sent := false
	fallback := missingIsAbsent
	for i := range mapping.sources {
		source := &mapping.sources[i]
		if source.only != nil && !source.only.holdsIn(m.answer, m.answer.record, m.scope) {
			continue
		}
		value, verdict, isSent, drift := m.read(mapping.spec, source)
		result.note(drift)
		sent = sent || isSent
		switch verdict {
		case forms.OK:
			result.value, result.state = value, present
			result.confidence = m.confidence(source)
			return result
		case forms.Wrong, forms.Masked:
			result.state = unknown
			return result
		}
		if !isSent && source.missing != missingIsAbsent && fallback != missingIsDrift {
			fallback = source.missing
		}
	}
	if !sent && result.state == absent {
		if fallback != missingIsAbsent {
			result.state = unknown
		}
		result.note(fallback == missingIsDrift)
	}
	return result
}

// read reads one source. Wrong values before a right one are passed over, but
// counted as drift.
func (m *mapper) read(spec enrich.Spec, source *source) (value enrich.Value, verdict forms.Verdict, sent, drift bool) {
	if source.masked != nil && source.masked.holdsIn(m.answer, m.answer.record, m.scope) {
		return enrich.Value{}, forms.Masked, true, false
	}
	var room room
	found := source.find(m, &room)
	if spec.Form == enrich.List {
		return readList(found)
	}
	context := m.context(spec, source)
	verdict = forms.Empty
	for _, raw := range found.values {
		value, one := forms.Read(spec, raw, context)
		switch one {
		case forms.OK:
			return value, forms.OK, true, drift
		case forms.Wrong:
			drift = true
		case forms.Masked:
			if verdict == forms.Empty {
				verdict = forms.Masked
			}
		}
	}
	if drift || found.broken {
		return enrich.Value{}, forms.Wrong, true, true
	}
	return enrich.Value{}, verdict, found.sent, false
}

func readList(found found) (enrich.Value, forms.Verdict, bool, bool) {
	var list forms.List
	for _, raw := range found.values {
		list.Add(raw)
	}
	value, verdict := list.Value()
	if verdict == forms.Empty && found.broken {
		verdict = forms.Wrong
	}
	return value, verdict, found.sent || found.broken, verdict == forms.Wrong || list.IsMixed()
}

// find finds the raw values of the source, which may stand in one.
func (s *source) find(m *mapper, one *room) found {
	switch {
	case s.path != nil:
		return s.path.find(m.answer.record, m.scope, one)
	case s.expression != nil:
		value, ok := s.expression.value(m.answer.view(m.scope))
		if !ok {
			return found{broken: true}
		}
		if list, ok := value.([]any); ok && len(s.ends) == 0 {
			return found{values: list, sent: true}
		}
		return found{values: []any{value}, sent: true}
	case len(s.ends) == 2:
		low, high := s.ends[0].find(m.answer.record, m.scope, one), s.ends[1].find(m.answer.record, m.scope, new(room))
		ends := found{sent: low.sent || high.sent, broken: low.broken || high.broken}
		if len(low.values)+len(high.values) > 0 {
			ends.values = []any{[]any{firstOf(low.values), firstOf(high.values)}}
		}
		return ends
	default:
		return found{values: []any{s.value}, sent: true}
	}
}

func firstOf(values []any) any {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

func (m *mapper) context(spec enrich.Spec, source *source) forms.Context {
	context := forms.Context{Words: source.words, TitleCase: source.titleCase, Currency: source.currency, Now: m.scope.Now}
	if needsCountry(spec) {
		context.Country = func() string {
			if source.country == nil {
				return m.country(spec.Attribute.Kind())
			}
			country, _ := forms.Country(source.country.textOf(m.answer.record, m.scope))
			return country
		}
	}
	return context
}

// country is the country of the person or company in the same answer.
func (m *mapper) country(kind enrich.SubjectKind) string {
	if country, known := m.countries[kind]; known {
		return country
	}
	country := ""
	if mapping := m.step.mapping(countryOf[kind]); mapping != nil {
		country = m.find(mapping).value.Text()
	}
	if m.countries == nil {
		m.countries = map[enrich.SubjectKind]string{}
	}
	m.countries[kind] = country
	return country
}

var countryOf = map[enrich.SubjectKind]enrich.Attribute{
	enrich.Person: "person.country", enrich.Company: "company.country",
}

func (m *mapper) confidence(source *source) float64 {
	if source.confidence != nil {
		return source.confidence.of(m)
	}
	if m.sure == nil {
		sure := m.step.call.definition.confidence.of(m)
		m.sure = &sure
	}
	return *m.sure
}

// attribute maps one attribute, and is false where the step does not supply it.
// The range of employees follows from their number where that is known.
func (m *mapper) attribute(a enrich.Attribute) (result finding, supplied bool) {
	own := m.step.mapping(a)
	if a == employeeRange {
		if counts := m.step.mapping(employeeCount); counts != nil {
			count := m.find(counts)
			if count.state == present || own == nil {
				return count.asRange(), true
			}
		}
	}
	if own == nil {
		return finding{}, false
	}
	return m.find(own), true
}

// asRange turns what is known of the number of employees into what is known of
// their range.
func (f finding) asRange() finding {
	f.attribute = employeeRange
	if f.state == present {
		f.value = forms.EmployeeRange(f.value.Number())
	}
	return f
}
