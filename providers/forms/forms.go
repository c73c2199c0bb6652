// Package forms brings what vendors send into the one form that each attribute
// has: E.164 phones, alpha-2 countries, canonical LinkedIn addresses, words of
// closed lists, whole dollars. What cannot be brought into its form is refused,
// never passed through.
package forms

import (
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Verdict is what became of a vendor's value.
type Verdict int

// The verdicts. The zero Verdict is a value in its form.
const (
	OK     Verdict = iota
	Empty          // the vendor sent a field that says nothing: null, "", "n/a", 0
	Absent         // a known word that has no value of ours
	Masked         // a part of a value: true, "+1 5**-***-****", a range without its lower end
	Wrong          // not of the attribute's form
)

// Context is what a value needs beside itself to be read.
type Context struct {
	// Country returns the country in which national phone numbers are read,
	// alpha-2; "" or no function refuses them.
	Country func() string
	// Currency of bare amounts of money, as "USD"; "" refuses them.
	Currency string
	// Words of the vendor; nil: the vocabulary common to all vendors.
	Words *Vocabulary
	// TitleCase is set for texts that the vendor is known to send in lower
	// case.
	TitleCase bool
	// Now bounds years.
	Now time.Time
}

// Read brings one raw value into the form of an attribute. Raw values are what
// decoding JSON gives: nil, bool, int, float64, string, []any, map[string]any.
// The Value is set exactly when the verdict is OK.
func Read(spec enrich.Spec, raw any, context Context) (enrich.Value, Verdict) {
	switch spec.Form {
	case enrich.Word:
		return readWord(spec, raw, context)
	case enrich.Number:
		return readNumber(spec, raw, context)
	default:
		text, verdict := readText(spec, raw, context)
		if verdict != OK {
			return enrich.Value{}, verdict
		}
		return enrich.TextValue(strings.Clone(text)), OK // not to keep the whole answer
	}
}

func readWord(spec enrich.Spec, raw any, context Context) (enrich.Value, Verdict) {
	if spec.Attribute == employeeRange {
		return readEmployeeRange(raw)
	}
	text, ok := ScalarText(raw)
	if !ok {
		return enrich.Value{}, verdictOfNonText(raw)
	}
	word, known := context.Words.lookUp(spec.Attribute, text)
	switch {
	case known && word == "":
		return enrich.Value{}, Absent
	case known:
		return enrich.WordValue(word), OK
	case isEmptyText(text):
		return enrich.Value{}, Empty
	case isMasked(text), isBool(raw):
		return enrich.Value{}, Masked
	default:
		return enrich.Value{}, Wrong
	}
}

func isBool(raw any) bool {
	_, is := raw.(bool)
	return is
}

func readText(spec enrich.Spec, raw any, context Context) (string, Verdict) {
	if spec.Shape == enrichv1.Form_FORM_MONEY_RANGE {
		return moneyRange(raw, context.Currency)
	}
	text, ok := raw.(string)
	switch {
	case !ok:
		return "", verdictOfNonText(raw)
	case isEmptyText(text), strings.TrimSpace(text) == "0":
		return "", Empty
	case spec.Shape == enrichv1.Form_FORM_LONG_TEXT:
		return longText(text)
	case isMasked(text):
		return "", Masked
	case !hasLetter(text) && needsLetter(spec):
		return "", Wrong
	}
	switch spec.Shape {
	case enrichv1.Form_FORM_NAME:
		if strings.Contains(text, "@") {
			return "", Wrong // an address is not a name
		}
		return personName(text)
	case enrichv1.Form_FORM_PHONE:
		return phone(text, context.Country)
	case enrichv1.Form_FORM_LINKEDIN_PERSON:
		return linkedIn(text, personPage)
	case enrichv1.Form_FORM_LINKEDIN_COMPANY:
		return linkedIn(text, companyPage)
	case enrichv1.Form_FORM_COUNTRY:
		return Country(text)
	case enrichv1.Form_FORM_TIME_ZONE:
		return timeZone(text)
	case enrichv1.Form_FORM_DOMAIN:
		return domain(text)
	case enrichv1.Form_FORM_LOWER:
		return lowerLine(text)
	default:
		return line(text, context.TitleCase)
	}
}

// needsLetter tells whether digits and marks alone cannot be the attribute's
// value. Companies have such names.
func needsLetter(spec enrich.Spec) bool {
	switch spec.Attribute {
	case "company.name", "company.legal_name", "person.company_name":
		return false
	}
	return spec.Shape == enrichv1.Form_FORM_NAME || spec.Shape == enrichv1.Form_FORM_LOWER || spec.Shape == enrichv1.Form_FORM_UNSPECIFIED
}

// verdictOfNonText judges a value that stands where a text belongs. Previews
// send true for "there is one".
func verdictOfNonText(raw any) Verdict {
	switch raw := raw.(type) {
	case nil:
		return Empty
	case bool:
		return Masked
	case []any:
		if len(raw) == 0 {
			return Empty
		}
	case map[string]any:
		if len(raw) == 0 {
			return Empty
		}
	}
	return Wrong
}
