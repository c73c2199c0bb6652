package enrich

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Attribute is one thing worth knowing, named by its path in the contract:
// "person.title", "company.employee_count".
type Attribute string

// Kind tells whether the attribute belongs to a person or to a company.
func (a Attribute) Kind() SubjectKind {
	if strings.HasPrefix(string(a), "company.") {
		return Company
	}
	return Person
}

// Form is the Go kind of an attribute's value.
type Form int

// The forms of a value.
const (
	Text   Form = iota // a text
	Word               // one word of Spec.Words
	Number             // a whole number
	List               // texts, sorted, without duplicates
)

// Spec is what the contract says about one attribute.
type Spec struct {
	Attribute Attribute
	Form      Form
	// Words are the values of a Word attribute, in the contract's order.
	Words []string
	// Shape is how the contract restricts the value beyond its Form.
	Shape enrichv1.Form
	// Privacy tells how private the attribute is.
	Privacy enrichv1.Privacy
	// FreshFor is how long a fact about the attribute stays fresh.
	FreshFor time.Duration
	// Field is the attribute's field in the message Person or Company.
	Field protoreflect.FieldDescriptor
}

// Text is the attribute's value in a response, as files of results have it: the
// items of lists are separated by semicolons. It is empty where there is none.
func (s Spec) Text(response *enrichv1.EnrichResponse) string {
	record := response.GetPerson().ProtoReflect()
	if s.Attribute.Kind() == Company {
		record = response.GetCompany().ProtoReflect()
	}
	if !record.IsValid() || !record.Has(s.Field) {
		return ""
	}
	value := record.Get(s.Field)
	switch s.Form {
	case List:
		var texts []string
		for i := range value.List().Len() {
			texts = append(texts, value.List().Get(i).String())
		}
		return strings.Join(texts, ";")
	case Word:
		return WordOf(s.Field.Enum().Values().ByNumber(protoreflect.EnumNumber(value.Enum())))
	default:
		return value.String()
	}
}

// contract is read once from the generated descriptors: the only list of
// attributes is the contract itself. Sorted are the attributes by name.
var (
	contract = readContract()
	sorted   = func() (names []Attribute) {
		for _, spec := range contract {
			names = append(names, spec.Attribute)
		}
		slices.Sort(names)
		return names
	}()
)

// Attributes returns what the contract says about every attribute, in its
// order: persons first.
func Attributes() []Spec { return slices.Clone(contract) }

// SpecOf returns what the contract says about an attribute, and false if the
// contract has none of that name.
func SpecOf(a Attribute) (Spec, bool) {
	place := PlaceOf(a)
	if place < 0 {
		return Spec{}, false
	}
	return contract[place], true
}

// AttributesOf returns the attributes of one kind of subject in the contract's
// order.
func AttributesOf(kind SubjectKind) []Attribute {
	var of []Attribute
	for _, spec := range contract {
		if spec.Attribute.Kind() == kind {
			of = append(of, spec.Attribute)
		}
	}
	return of
}

// byKind parts sorted attributes, those of companies come first.
func byKind(sorted []Attribute) (company, person []Attribute) {
	companies, _ := slices.BinarySearch(sorted, "person.")
	return sorted[:companies:companies], sorted[companies:]
}

// WordOf returns the word for an enum value of the contract, and NumberOf its
// inverse.
func WordOf(value protoreflect.EnumValueDescriptor) string {
	if word := proto.GetExtension(value.Options(), enrichv1.E_Word).(string); word != "" {
		return word
	}
	zero := value.Parent().(protoreflect.EnumDescriptor).Values().ByNumber(0)
	prefix := strings.TrimSuffix(string(zero.Name()), "UNSPECIFIED")
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
}

// NumberOf returns the number of the enum value that the word stands for.
func NumberOf(enum protoreflect.EnumDescriptor, word string) (protoreflect.EnumNumber, bool) {
	for i := range enum.Values().Len() {
		if value := enum.Values().Get(i); value.Number() != 0 && WordOf(value) == word {
			return value.Number(), true
		}
	}
	return 0, false
}

func readContract() []Spec {
	var all []Spec
	for _, message := range []protoreflect.MessageDescriptor{
		(&enrichv1.Person{}).ProtoReflect().Descriptor(),
		(&enrichv1.Company{}).ProtoReflect().Descriptor(),
	} {
		for i := range message.Fields().Len() {
			all = append(all, readSpec(message.Fields().Get(i)))
		}
	}
	return all
}

func readSpec(field protoreflect.FieldDescriptor) Spec {
	options := proto.GetExtension(field.Options(), enrichv1.E_Attribute).(*enrichv1.AttributeOptions)
	spec := Spec{
		Attribute: Attribute(strings.ToLower(string(field.Parent().Name())) + "." + string(field.Name())),
		Shape:     options.GetForm(),
		Privacy:   options.GetPrivacy(),
		FreshFor:  time.Duration(options.GetFreshDays()) * 24 * time.Hour,
		Field:     field,
	}
	switch {
	case field.IsList():
		spec.Form = List
	case field.Kind() == protoreflect.EnumKind:
		spec.Form = Word
		for i := range field.Enum().Values().Len() {
			if value := field.Enum().Values().Get(i); value.Number() != 0 {
				spec.Words = append(spec.Words, WordOf(value))
			}
		}
	case field.Kind() == protoreflect.StringKind:
		spec.Form = Text
	case field.Kind() == protoreflect.Int64Kind, field.Kind() == protoreflect.Int32Kind:
		spec.Form = Number
	default:
		panic(fmt.Sprintf("enrich: contract field %s has a kind without a form: %s", field.FullName(), field.Kind()))
	}
	return spec
}
