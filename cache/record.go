package cache

import (
	"errors"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
	recordv1 "github.com/enrichd/enrichd/proto/record/v1"
)

// errRecord is the error of bytes that are no record.
var errRecord = errors.New("cache: not an encoded record")

// encodeRecord returns the stored form of a record.
func encodeRecord(record enrich.Record) (string, error) {
	var stored recordv1.Record
	sources := map[string]uint32{}
	var about *recordv1.Attribute
	for _, fact := range record.Facts() { // sorted by attribute
		source, ok := sources[fact.Source]
		if !ok {
			source = uint32(len(sources))
			sources[fact.Source] = source
			stored.Sources = append(stored.Sources, fact.Source)
		}
		if about == nil || about.Name != string(fact.Attribute) {
			about = &recordv1.Attribute{Name: string(fact.Attribute)}
			stored.Attributes = append(stored.Attributes, about)
		}
		about.Facts = append(about.Facts, encodeFact(fact, source))
	}
	payload, err := proto.Marshal(&stored)
	return string(payload), err
}

func encodeFact(fact enrich.Fact, source uint32) *recordv1.Fact {
	stored := &recordv1.Fact{
		Source:      source,
		State:       recordv1.State(fact.State),
		FetchedAtMs: fact.FetchedAt.UnixMilli(),
		Confidence:  fact.Confidence,
		PriceMicros: int64(fact.Price),
	}
	if fact.Value.IsZero() {
		return stored
	}
	switch fact.Value.Form() {
	case enrich.Text:
		stored.Value = &recordv1.Fact_Text{Text: fact.Value.Text()}
	case enrich.Word:
		stored.Value = &recordv1.Fact_Word{Word: fact.Value.Text()}
	case enrich.Number:
		stored.Value = &recordv1.Fact_Number{Number: fact.Value.Number()}
	case enrich.List:
		stored.Value = &recordv1.Fact_List{List: &recordv1.List{Items: fact.Value.List()}}
	}
	return stored
}

// decodeRecord is the inverse of encodeRecord. It refuses what encodeRecord
// cannot have written, so that damage never becomes a wrong fact.
func decodeRecord(payload string) (enrich.Record, error) {
	var stored recordv1.Record
	if err := proto.Unmarshal([]byte(payload), &stored); err != nil {
		return enrich.Record{}, errRecord
	}
	var facts []enrich.Fact
	for _, about := range stored.Attributes {
		for _, fact := range about.Facts {
			if about.Name == "" || int(fact.Source) >= len(stored.Sources) {
				return enrich.Record{}, errRecord
			}
			decoded, ok := decodeFact(fact)
			if !ok {
				return enrich.Record{}, errRecord
			}
			decoded.Attribute = enrich.Attribute(about.Name)
			decoded.Source = stored.Sources[fact.Source]
			facts = append(facts, decoded)
		}
	}
	if len(facts) == 0 {
		return enrich.Record{}, errRecord
	}
	return enrich.NewRecord(facts...), nil
}

func decodeFact(stored *recordv1.Fact) (enrich.Fact, bool) {
	fact := enrich.Fact{
		State:      enrich.State(stored.State),
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
		fact.Value = enrich.ListValue(value.List.GetItems())
	}
	known := fact.State >= enrich.StateValue && fact.State <= enrich.StateSuppressed
	stated := (fact.State == enrich.StateValue) == !fact.Value.IsZero()
	sure := fact.Confidence >= 0 && fact.Confidence <= 1 && !math.IsNaN(fact.Confidence)
	return fact, known && stated && sure
}
