package record

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
	recordv1 "github.com/enrichd/enrichd/proto/record/v1"
)

// wide is a record as two talkative vendors leave it.
func wide(at time.Time) enrich.Record {
	var facts []enrich.Fact
	for _, spec := range enrich.Attributes() {
		for _, source := range []string{"alpha", "beta"} {
			fact := enrich.Fact{Attribute: spec.Attribute, Source: source, FetchedAt: at, Confidence: 0.7, Price: 9000, State: enrich.StateValue}
			switch {
			case source == "beta" && spec.Form == enrich.Number:
				fact.State = enrich.StateAbsent
			case source == "beta" && spec.Form == enrich.Word:
				fact.State = enrich.StateSuppressed
			case spec.Form == enrich.Number:
				fact.Value = enrich.NumberValue(1987)
			case spec.Form == enrich.Word:
				fact.Value = enrich.WordValue(spec.Words[0])
			case spec.Form == enrich.List:
				fact.Value = enrich.ListValue([]string{"go", "redis", "terraform"})
			default:
				fact.Value = enrich.TextValue("Brunhilde Sägewerk, " + string(spec.Attribute))
			}
			facts = append(facts, fact)
		}
	}
	return enrich.NewRecord(facts...)
}

// title is what a source said about a title at a time.
func title(source string, at time.Time) enrich.Fact {
	return enrich.Fact{Attribute: "person.title", State: enrich.StateValue, Value: enrich.TextValue("Head of Gardens"),
		Source: source, FetchedAt: at, Confidence: 0.875, Price: 280000}
}

// now is the time to the millisecond, as facts have it.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }

// wantSame compares two records fact by fact.
func wantSame(t *testing.T, got, want enrich.Record) {
	t.Helper()
	same := slices.EqualFunc(got.Facts(), want.Facts(), func(a, b enrich.Fact) bool {
		equal := a.FetchedAt.Equal(b.FetchedAt) && a.Value.Equal(b.Value)
		a.FetchedAt, a.Value = b.FetchedAt, b.Value
		return equal && reflect.DeepEqual(a, b)
	})
	if !same {
		t.Fatalf("got %v, want %v", got.Facts(), want.Facts())
	}
}

func TestRecordSurvivesEncoding(t *testing.T) {
	for name, record := range map[string]enrich.Record{
		"one fact": enrich.NewRecord(title("alpha", now())),
		"wide":     wide(now()),
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := Encode(record)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := Decode(payload)
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, decoded, record)
		})
	}
}

// TestRecordIsItsProto holds the hand-written reading and writing against the
// generated code, in both directions.
func TestRecordIsItsProto(t *testing.T) {
	record := wide(now())
	payload, err := Encode(record)
	if err != nil {
		t.Fatal(err)
	}
	var generated recordv1.Record
	if err := proto.Unmarshal([]byte(payload), &generated); err != nil {
		t.Fatal(err)
	}
	var facts []enrich.Fact
	for _, attribute := range generated.Attributes {
		for _, fact := range attribute.Facts {
			facts = append(facts, factOf(attribute.Name, generated.Sources[fact.Source], fact))
		}
	}
	wantSame(t, enrich.NewRecord(facts...), record)
	if unknown := generated.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		t.Errorf("%d bytes are not in the proto", len(unknown))
	}

	written, err := proto.Marshal(&generated)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := Decode(string(written))
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, decoded, record)
}

// factOf is the fact that a generated message states.
func factOf(attribute, source string, stored *recordv1.Fact) enrich.Fact {
	fact := enrich.Fact{
		Attribute:  enrich.Attribute(attribute),
		State:      enrich.State(stored.State),
		Source:     source,
		FetchedAt:  time.UnixMilli(stored.FetchedAtMs),
		Confidence: stored.Confidence,
		Price:      enrich.Micros(stored.PriceMicros),
	}
	switch value := stored.Value.(type) {
	case *recordv1.Fact_Text:
		fact.Value = enrich.TextValue(value.Text)
	case *recordv1.Fact_Word:
		fact.Value = enrich.WordValue(value.Word)
	case *recordv1.Fact_Number:
		fact.Value = enrich.NumberValue(value.Number)
	case *recordv1.Fact_List:
		fact.Value = enrich.ListValue(value.List.Items)
	}
	return fact
}

// TestRecordOfANewerProgram has fields that this program does not know.
func TestRecordOfANewerProgram(t *testing.T) {
	record := enrich.NewRecord(title("alpha", now()))
	payload, err := Encode(record)
	if err != nil {
		t.Fatal(err)
	}
	unknown := string(appendVarint(appendText(nil, 100, "news"), 101, 7))
	decoded, err := Decode(payload + unknown)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, decoded, record)
}

func TestEncodeRefuses(t *testing.T) {
	for name, change := range map[string]func(*enrich.Fact){
		"no source":           func(f *enrich.Fact) { f.Source = "" },
		"no attribute":        func(f *enrich.Fact) { f.Attribute = "" },
		"no state":            func(f *enrich.Fact) { f.State = 0 },
		"an absence's value":  func(f *enrich.Fact) { f.State = enrich.StateAbsent },
		"a value of nothing":  func(f *enrich.Fact) { f.Value = enrich.Value{} },
		"a broken text":       func(f *enrich.Fact) { f.Value = enrich.TextValue("caf\xe9") },
		"a broken list":       func(f *enrich.Fact) { f.Value = enrich.ListValue([]string{"caf\xe9"}) },
		"no number":           func(f *enrich.Fact) { f.Confidence = math.NaN() },
		"more than certainty": func(f *enrich.Fact) { f.Confidence = 1.5 },
	} {
		t.Run(name, func(t *testing.T) {
			fact := title("alpha", now())
			change(&fact)
			if _, err := Encode(enrich.NewRecord(fact)); !errors.Is(err, ErrFact) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestDecodeRefuses reads what is well-formed but cannot be a record of ours.
func TestDecodeRefuses(t *testing.T) {
	fact := func() *recordv1.Fact {
		return &recordv1.Fact{State: recordv1.State_STATE_VALUE, Value: &recordv1.Fact_Text{Text: "Gardener"}}
	}
	attribute := func(facts ...*recordv1.Fact) []*recordv1.Attribute {
		return []*recordv1.Attribute{{Name: "person.title", Facts: facts}}
	}
	for name, stored := range map[string]*recordv1.Record{
		"nothing":           {},
		"no fact":           {Sources: []string{"alpha"}, Attributes: attribute()},
		"a source beyond":   {Sources: []string{"alpha"}, Attributes: attribute(&recordv1.Fact{Source: 1, State: recordv1.State_STATE_ABSENT})},
		"a nameless source": {Sources: []string{""}, Attributes: attribute(fact())},
		"a fact twice":      {Sources: []string{"alpha"}, Attributes: attribute(fact(), fact())},
		"no attribute":      {Sources: []string{"alpha"}, Attributes: []*recordv1.Attribute{{Facts: []*recordv1.Fact{fact()}}}},
		"an unknown state":  {Sources: []string{"alpha"}, Attributes: attribute(&recordv1.Fact{State: 9})},
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := proto.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Decode(string(payload)); !errors.Is(err, ErrForm) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNumbersAreProtocolBuffers holds the reading of numbers against protowire's.
func TestNumbersAreProtocolBuffers(t *testing.T) {
	texts := []string{"", "\x80", strings.Repeat("\xff", 9) + "\x01", strings.Repeat("\xff", 9) + "\x02", strings.Repeat("\x80", 10) + "\x00", "\x80\x00"}
	for shift := range 64 {
		texts = append(texts, string(protowire.AppendVarint(nil, 1<<shift)), string(protowire.AppendVarint(nil, 1<<shift-1)))
	}
	for _, text := range texts {
		want, size := protowire.ConsumeVarint([]byte(text))
		in := wire{from: text}
		if got := in.varint(); in.bad != (size < 0) || size >= 0 && (got != want || in.at != size) {
			t.Errorf("%x is %d in %d bytes (bad: %t), want %d in %d", text, got, in.at, in.bad, want, size)
		}
	}
}
