package server

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// everything is an answer that has every attribute, everything else besides, and
// what is unusual.
func everything(t *testing.T) enrich.Answer {
	answer := janeAtAcme(t)
	for _, spec := range enrich.Attributes() {
		value := enrich.TextValue("Brunhilde Sägewerk")
		switch spec.Form {
		case enrich.Word:
			value = enrich.WordValue(spec.Words[len(spec.Words)-1])
		case enrich.Number:
			value = enrich.NumberValue(1 << 30)
		case enrich.List:
			value = enrich.ListValue([]string{"go", "redis", ""})
		}
		answer.Found = answer.Found.With(enrich.Provenance{
			Fact: &enrich.Fact{Attribute: spec.Attribute, State: enrich.StateValue, Value: value, Source: "peopledatalabs", FetchedAt: time.UnixMilli(1_790_000_000_123), Confidence: 0.8},
			Tier: enrich.RedisTier, FreshUntil: time.UnixMilli(1_890_000_000_999),
		})
	}
	answer.Gaps["person.email"] = enrich.Gap{Kind: enrich.GapNotAsked, Reason: enrich.ReasonCacheOnly}
	answer.Attempts = append(answer.Attempts, enrich.Attempt{
		Provider: "apollo", Outcome: enrich.Miss, Waited: 1500 * time.Millisecond, Took: 7 * time.Nanosecond, Charged: enrich.KnownCharge(0), Shared: true,
	}, enrich.Attempt{Provider: "hunter", Outcome: enrich.Timeout})
	return answer
}

// mixed is everything, with neighbours that differ in one part of where they come
// from, and such as share what is long.
func mixed(t *testing.T) enrich.Answer {
	answer := everything(t)
	for i := range answer.Found {
		found := &answer.Found[i]
		switch i % 12 {
		case 1:
			found.Fact.Confidence = 0
		case 3:
			found.Tier = enrich.NoTier
		case 5:
			found.FreshUntil = found.FreshUntil.Add(time.Nanosecond)
		case 7:
			found.Fact.FetchedAt = found.Fact.FetchedAt.Add(time.Second)
		case 9, 10, 11:
			found.Fact.Source = strings.Repeat("long", 50)
		}
	}
	return answer
}

// TestWireAnswerIsTheMessage holds the fields that are encoded by hand against
// those that generated code encodes, every one that the contract has.
func TestWireAnswerIsTheMessage(t *testing.T) {
	broken := janeAtAcme(t)
	broken.Gaps = map[enrich.Attribute]enrich.Gap{"person.phone": {Reason: "not UTF-8: \xff"}}
	zero := everything(t)
	zero.Found.Of("company.employee_count").Fact.Value = enrich.NumberValue(0)
	held := map[protoreflect.FullName]bool{}
	for name, answer := range map[string]enrich.Answer{
		"usual":      janeAtAcme(t),
		"everything": everything(t),
		"mixed":      mixed(t),
		"zero":       zero,
		"nothing":    {},
		"repaired":   {Address: addressOf(t, "Info <info@gmial.com>")},
		"free":       {Address: addressOf(t, "jane.doe@gmail.com")},
		"disposable": {Address: addressOf(t, "jane.doe@mailinator.com")},
	} {
		noteFields(writeAnswer(answer).ProtoReflect(), held)
		t.Run(name, func(t *testing.T) {
			wire, err := proto.Marshal(wireAnswer(&answer))
			if err != nil {
				t.Fatal(err)
			}
			read := &enrichv1.EnrichResponse{}
			if err := proto.Unmarshal(wire, read); err != nil {
				t.Fatal(err)
			}
			if want := writeAnswer(answer); !proto.Equal(read, want) {
				t.Errorf("got %v\nwant %v", read, want)
			}
			if unknown := read.ProtoReflect().GetUnknown(); len(unknown) > 0 {
				t.Errorf("%d bytes are not in the contract", len(unknown))
			}
		})
	}
	for _, name := range allFields((&enrichv1.EnrichResponse{}).ProtoReflect().Descriptor()) {
		if !held[name] {
			t.Errorf("no answer here has %s: encode it, and have one", name)
		}
	}
	if err := proto.Unmarshal(appendAnswer(nil, &broken), &enrichv1.EnrichResponse{}); err != nil {
		t.Errorf("a text that is not UTF-8 spoils the answer: %v", err)
	}
}

func addressOf(t *testing.T, cell string) email.Address {
	t.Helper()
	address, err := email.Normalize(cell)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// noteFields notes the fields that a message has, and those of the messages in it.
func noteFields(message protoreflect.Message, held map[protoreflect.FullName]bool) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		held[field.FullName()] = true
		switch {
		case field.IsMap():
			value.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
				noteFields(value.Message(), held)
				return true
			})
		case field.Message() != nil && field.IsList():
			for i := range value.List().Len() {
				noteFields(value.List().Get(i).Message(), held)
			}
		case field.Message() != nil:
			noteFields(value.Message(), held)
		}
		return true
	})
}

// allFields are the fields that the contract gives a message and those in it.
func allFields(message protoreflect.MessageDescriptor) (names []protoreflect.FullName) {
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		names = append(names, field.FullName())
		within := field.Message()
		if field.IsMap() {
			within = field.MapValue().Message()
		}
		if within != nil && within.ParentFile().Package() == message.ParentFile().Package() {
			names = append(names, allFields(within)...)
		}
	}
	return names
}

// BenchmarkAnswer encodes an answer with every attribute.
func BenchmarkAnswer(b *testing.B) {
	answer := everything(&testing.T{})
	for name, encode := range map[string]func() *enrichv1.EnrichResponse{
		"wire":    func() *enrichv1.EnrichResponse { return wireAnswer(&answer) },
		"message": func() *enrichv1.EnrichResponse { return writeAnswer(answer) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := proto.Marshal(encode()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
