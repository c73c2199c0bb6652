package server

import (
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// wireAnswer is writeAnswer's message with all of its fields encoded already, in
// the place of unknown ones, which are sent as they are. To make the message and
// have it encoded takes four times as long, and 339 allocations instead of 3 for an
// answer with every attribute. A test holds it against writeAnswer.
func wireAnswer(answer *enrich.Answer) *enrichv1.EnrichResponse {
	response := &enrichv1.EnrichResponse{}
	response.ProtoReflect().SetUnknown(appendAnswer(nil, answer))
	return response
}

// The numbers of the contract's fields.
const (
	answerEmail      = 1
	answerDomain     = 2
	answerOutcome    = 3
	answerPerson     = 4
	answerCompany    = 5
	answerProvenance = 6
	answerGaps       = 7
	answerAttempts   = 8
	answerCost       = 9
	answerKey        = 10
	answerAddress    = 11

	mapKey   = 1
	mapValue = 2

	provenanceProvider   = 1
	provenanceFetchedAt  = 2
	provenanceConfidence = 3
	provenanceTier       = 4
	provenanceFreshUntil = 5

	gapKind   = 1
	gapReason = 2

	attemptProvider = 1
	attemptOutcome  = 2
	attemptWaited   = 3
	attemptTook     = 4
	attemptCharged  = 5
	attemptShared   = 6

	addressRole       = 1
	addressFree       = 2
	addressDisposable = 3
	addressRepairs    = 4
	addressSuggestion = 5

	timeSeconds = 1
	timeNanos   = 2
)

func appendAnswer(to []byte, answer *enrich.Answer) []byte {
	const usual, usualPart = 4 << 10, 1 << 10
	to = slices.Grow(to, usual)
	to = appendText(to, answerEmail, answer.Address.Reveal())
	to = appendText(to, answerDomain, answer.Domain.String())
	to = appendNumber(to, answerOutcome, int64(outcomes[answer.Completeness]))
	person, company := make([]byte, 0, usualPart), make([]byte, 0, usualPart)
	var part, entry [256]byte
	for i := range answer.Found {
		found := &answer.Found[i]
		attribute := found.Fact.Attribute
		if attribute.Kind() == enrich.Company {
			company = appendFact(company, found.Fact)
		} else {
			person = appendFact(person, found.Fact)
		}
		to = appendEntry(to, answerProvenance, entry[:0], attribute, appendProvenance(part[:0], found))
	}
	for attribute, gap := range answer.Gaps {
		value := appendNumber(part[:0], gapKind, int64(gapKinds[gap.Kind]))
		to = appendEntry(to, answerGaps, entry[:0], attribute, appendText(value, gapReason, gap.Reason))
	}
	if len(person) > 0 {
		to = appendMessage(to, answerPerson, person)
	}
	if len(company) > 0 {
		to = appendMessage(to, answerCompany, company)
	}
	for i := range answer.Attempts {
		to = appendMessage(to, answerAttempts, appendAttempt(part[:0], &answer.Attempts[i]))
	}
	to = appendNumber(to, answerCost, int64(answer.Cost))
	to = appendText(to, answerKey, answer.IdempotencyKey)
	if !answer.Address.IsZero() {
		value := appendBool(part[:0], addressRole, answer.Address.Role())
		value = appendBool(value, addressFree, answer.Address.Free())
		value = appendBool(value, addressDisposable, answer.Address.Disposable())
		for _, repair := range answer.Address.Repairs() {
			value = appendItem(value, addressRepairs, repair)
		}
		to = appendMessage(to, answerAddress, appendText(value, addressSuggestion, answer.Address.Suggestion()))
	}
	return to
}

// field is an attribute's field in the message Person or Company.
type field struct {
	number protowire.Number
	form   enrich.Form
	words  map[string]protoreflect.EnumNumber // of a Word
}

// fields are looked up here: descriptors take several times as long to ask.
var fields = func() map[enrich.Attribute]field {
	all := map[enrich.Attribute]field{}
	for _, spec := range enrich.Attributes() {
		each := field{number: spec.Field.Number(), form: spec.Form, words: map[string]protoreflect.EnumNumber{}}
		for _, word := range spec.Words {
			each.words[word], _ = enrich.NumberOf(spec.Field.Enum(), word)
		}
		all[spec.Attribute] = each
	}
	return all
}()

// appendFact appends the fact's field. It is there whatever its value is: none of
// these fields is left out for being zero.
func appendFact(to []byte, fact *enrich.Fact) []byte {
	field := fields[fact.Attribute]
	switch field.form {
	case enrich.Text:
		return appendItem(to, field.number, fact.Value.Text())
	case enrich.Word:
		number, known := field.words[fact.Value.Text()]
		if !known {
			return to
		}
		return appendVarint(to, field.number, int64(number))
	case enrich.Number:
		return appendVarint(to, field.number, fact.Value.Number())
	default:
		for _, text := range fact.Value.List() {
			to = appendItem(to, field.number, text)
		}
		return to
	}
}

func appendProvenance(to []byte, found *enrich.Provenance) []byte {
	to = appendText(to, provenanceProvider, found.Fact.Source)
	to = appendTime(to, provenanceFetchedAt, found.Fact.FetchedAt)
	if found.Fact.Confidence != 0 {
		to = protowire.AppendTag(to, provenanceConfidence, protowire.Fixed64Type)
		to = protowire.AppendFixed64(to, math.Float64bits(found.Fact.Confidence))
	}
	to = appendNumber(to, provenanceTier, int64(tiers[found.Tier]))
	return appendTime(to, provenanceFreshUntil, found.FreshUntil)
}

func appendAttempt(to []byte, attempt *enrich.Attempt) []byte {
	to = appendText(to, attemptProvider, attempt.Provider)
	to = appendText(to, attemptOutcome, string(attempt.Outcome))
	to = appendSpan(to, attemptWaited, int64(attempt.Waited/time.Second), int64(attempt.Waited%time.Second))
	to = appendSpan(to, attemptTook, int64(attempt.Took/time.Second), int64(attempt.Took%time.Second))
	if attempt.Charged.Known { // which is told when it is nothing too
		to = appendVarint(to, attemptCharged, int64(attempt.Charged.Micros))
	}
	return appendBool(to, attemptShared, attempt.Shared)
}

// appendEntry appends an entry of a map, which is made in the given room.
func appendEntry(to []byte, field protowire.Number, room []byte, attribute enrich.Attribute, value []byte) []byte {
	room = appendText(room, mapKey, string(attribute))
	return appendMessage(to, field, appendMessage(room, mapValue, value))
}

func appendTime(to []byte, field protowire.Number, at time.Time) []byte {
	return appendSpan(to, field, at.Unix(), int64(at.Nanosecond()))
}

// appendSpan appends a Timestamp or a Duration.
func appendSpan(to []byte, field protowire.Number, seconds, nanos int64) []byte {
	var room [24]byte
	return appendMessage(to, field, appendNumber(appendNumber(room[:0], timeSeconds, seconds), timeNanos, nanos))
}

func appendMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

// appendText appends a text, nothing for an empty one.
func appendText(to []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return to
	}
	return appendItem(to, field, text)
}

// appendItem appends a text of a list, which may be empty.
func appendItem(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), strings.ToValidUTF8(text, "\uFFFD"))
}

// appendNumber appends a number or an enum's, nothing for 0.
func appendNumber(to []byte, field protowire.Number, number int64) []byte {
	if number == 0 {
		return to
	}
	return appendVarint(to, field, number)
}

func appendVarint(to []byte, field protowire.Number, number int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), uint64(number))
}

func appendBool(to []byte, field protowire.Number, is bool) []byte {
	if !is {
		return to
	}
	return appendNumber(to, field, 1)
}
