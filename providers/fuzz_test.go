package providers

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/definitions"
	"github.com/enrichd/enrichd/providers/engine"
)

// FuzzAnswers gives arbitrary answers to every step of every definition:
// nothing panics, and no fact has another form than its attribute.
func FuzzAnswers(f *testing.F) {
	library := NewLibrary("")
	var known []*engine.Definition
	for _, name := range definitions.Names {
		definition, err := library.Load(name)
		if err != nil {
			f.Fatal(err)
		}
		known = append(known, definition)
		_, data, err := library.exchanges(name)
		if err != nil {
			f.Fatal(err)
		}
		cases, err := ReadCases(data)
		if err != nil {
			f.Fatal(err)
		}
		for _, one := range cases {
			for _, exchange := range one.Exchanges {
				answer := exchange.response()
				f.Add(answer.status, "application/json", answer.header.Get("Retry-After"), answer.body)
			}
		}
	}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, status int, contentType, retryAfter string, body []byte) {
		header := http.Header{"Content-Type": {contentType}, "Retry-After": {retryAfter}}
		for _, definition := range known {
			for _, call := range definition.Calls() {
				for _, step := range call.Steps() {
					scope := &engine.Scope{Email: "anna.weber@acme.example", MailDomain: "acme.example", Domain: "acme.example", Wanted: call.Supplies(), Now: now}
					reading := step.Read(status, header, body, scope, engine.Pricing{})
					if (reading.Next != nil) != (reading.Outcome == enrich.Pending) {
						t.Errorf("%s: %s: %s with next %v", definition.Name, step.Name, reading.Outcome, reading.Next)
					}
					for _, found := range reading.Found {
						if problem := formProblem(found.Attribute, found.Value); problem != "" || found.Confidence < 0 || found.Confidence > 1 {
							t.Errorf("%s: %s: %s %s, confidence %v", definition.Name, step.Name, found.Attribute, problem, found.Confidence)
						}
					}
					if reading.Wait != nil && (*reading.Wait < 0 || *reading.Wait > 40*24*time.Hour) || reading.Charge.Micros < 0 {
						t.Errorf("%s: %s: waits %v, costs %v", definition.Name, step.Name, reading.Wait, reading.Charge)
					}
				}
			}
		}
	})
}

var shapes = map[enrichv1.Form]*regexp.Regexp{
	enrichv1.Form_FORM_PHONE:            regexp.MustCompile(`^\+[1-9]\d{5,14}$`),
	enrichv1.Form_FORM_LINKEDIN_PERSON:  regexp.MustCompile(`^https://www\.linkedin\.com/in/[^/?#\s]+$`),
	enrichv1.Form_FORM_LINKEDIN_COMPANY: regexp.MustCompile(`^https://www\.linkedin\.com/company/[^/?#\s]+$`),
	enrichv1.Form_FORM_COUNTRY:          regexp.MustCompile(`^[A-Z]{2}$`),
	enrichv1.Form_FORM_DOMAIN:           regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+$`),
	enrichv1.Form_FORM_MONEY_RANGE:      regexp.MustCompile(`^(\d+-[1-9]\d*|[1-9]\d*\+)$`),
	enrichv1.Form_FORM_TIME_ZONE:        regexp.MustCompile(`^[A-Za-z0-9_+/-]+$`),
}

// formProblem says what is wrong with a value of the attribute, "" if nothing.
func formProblem(a enrich.Attribute, value enrich.Value) string {
	spec, _ := enrich.SpecOf(a)
	switch {
	case value.IsZero() || value.Form() != spec.Form:
		return "has no value of its form"
	case spec.Form == enrich.Word && !slices.Contains(spec.Words, value.Text()):
		return "is not one of its words"
	case spec.Form == enrich.Number && (value.Number() < 1 || spec.Shape == enrichv1.Form_FORM_YEAR && (value.Number() < 1000 || value.Number() > 2026) ||
		spec.Shape == enrichv1.Form_FORM_HEADCOUNT && value.Number() > 10_000_000):
		return "is out of bounds"
	case spec.Form == enrich.List && (!slices.IsSorted(value.List()) || slices.Contains(value.List(), "")):
		return "is not sorted"
	case spec.Form != enrich.Text:
		return ""
	}
	text := value.Text()
	shape := shapes[spec.Shape]
	switch {
	case text == "" || strings.TrimSpace(text) != text || !utf8.ValidString(text) || utf8.RuneCountInString(text) > 1000:
		return "is no clean text"
	case shape != nil && !shape.MatchString(text):
		return "has another shape"
	case spec.Shape == enrichv1.Form_FORM_LOWER && text != strings.ToLower(text):
		return "is not in lower case"
	}
	return ""
}
