package server

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

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
		answer.Found[spec.Attribute] = enrich.Provenance{
			Fact: enrich.Fact{Attribute: spec.Attribute, State: enrich.StateValue, Value: value, Source: "peopledatalabs", FetchedAt: time.UnixMilli(1_790_000_000_123), Confidence: 0.8},
			Tier: enrich.RedisTier, FreshUntil: time.UnixMilli(1_890_000_000_999),
		}
	}
	answer.Gaps["person.email"] = enrich.Gap{Kind: enrich.GapNotAsked, Reason: enrich.ReasonCacheOnly}
	answer.Attempts = append(answer.Attempts, enrich.Attempt{
		Provider: "apollo", Outcome: enrich.Miss, Waited: 1500 * time.Millisecond, Took: 7 * time.Nanosecond, Charged: enrich.KnownCharge(0), Shared: true,
	}, enrich.Attempt{Provider: "hunter", Outcome: enrich.Timeout})
	return answer
}

// TestWireAnswerIsTheMessage holds the fields that are encoded by hand against
// those that generated code encodes.
func TestWireAnswerIsTheMessage(t *testing.T) {
	broken := janeAtAcme(t)
	broken.Gaps = map[enrich.Attribute]enrich.Gap{"person.phone": {Reason: "not UTF-8: \xff"}}
	zero := everything(t)
	people := zero.Found["company.employee_count"]
	people.Fact.Value = enrich.NumberValue(0)
	zero.Found["company.employee_count"] = people
	for name, answer := range map[string]enrich.Answer{
		"usual":      janeAtAcme(t),
		"everything": everything(t),
		"zero":       zero,
		"nothing":    {},
	} {
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
	if err := proto.Unmarshal(appendAnswer(nil, &broken), &enrichv1.EnrichResponse{}); err != nil {
		t.Errorf("a text that is not UTF-8 spoils the answer: %v", err)
	}
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
