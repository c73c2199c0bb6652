package ledger

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
	recordv1 "github.com/enrichd/enrichd/proto/record/v1"
)

// encodeRecord writes a record as proto/record/v1, in the alphabet of texts.
func encodeRecord(record enrich.Record) (string, error) {
	message := &recordv1.Record{}
	index := map[string]uint32{}
	for _, fact := range record.Facts() { // sorted by attribute
		source, known := index[fact.Source]
		if !known {
			source = uint32(len(message.Sources))
			index[fact.Source] = source
			message.Sources = append(message.Sources, fact.Source)
		}
		last := len(message.Attributes) - 1
		if last < 0 || message.Attributes[last].Name != string(fact.Attribute) {
			message.Attributes = append(message.Attributes, &recordv1.Attribute{Name: string(fact.Attribute)})
			last++
		}
		message.Attributes[last].Facts = append(message.Attributes[last].Facts, encodeFact(fact, source))
	}
	encoded, err := proto.Marshal(message)
	if err != nil {
		return "", errors.New("ledger: a fact cannot be stored") // the cause would name its text
	}
	return base64.StdEncoding.EncodeToString(encoded), nil
}

func encodeFact(fact enrich.Fact, source uint32) *recordv1.Fact {
	encoded := &recordv1.Fact{Source: source, State: recordv1.State(fact.State), FetchedAtMs: fact.FetchedAt.UnixMilli(),
		Confidence: fact.Confidence, PriceMicros: int64(fact.Price)}
	if fact.Value.IsZero() {
		return encoded
	}
	spec, _ := enrich.SpecOf(fact.Attribute)
	switch form := fact.Value.Form(); {
	case form == enrich.Number:
		encoded.Value = &recordv1.Fact_Number{Number: fact.Value.Number()}
	case form == enrich.List:
		encoded.Value = &recordv1.Fact_List{List: &recordv1.List{Items: fact.Value.List()}}
	case form == enrich.Word || spec.Form == enrich.Word:
		encoded.Value = &recordv1.Fact_Word{Word: fact.Value.Text()}
	default:
		encoded.Value = &recordv1.Fact_Text{Text: fact.Value.Text()}
	}
	return encoded
}

// decodeRecord is the inverse of encodeRecord.
func decodeRecord(text string) (enrich.Record, error) {
	encoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return enrich.Record{}, fmt.Errorf("ledger: record: %w", err)
	}
	var message recordv1.Record
	if err := proto.Unmarshal(encoded, &message); err != nil {
		return enrich.Record{}, fmt.Errorf("ledger: record: %w", err)
	}
	var facts []enrich.Fact
	for _, attribute := range message.Attributes {
		for _, fact := range attribute.Facts {
			if int(fact.Source) >= len(message.Sources) {
				return enrich.Record{}, errors.New("ledger: record: a fact without a source")
			}
			facts = append(facts, enrich.Fact{Attribute: enrich.Attribute(attribute.Name), State: enrich.State(fact.State),
				Value: decodeValue(fact), Source: message.Sources[fact.Source], FetchedAt: time.UnixMilli(fact.FetchedAtMs),
				Confidence: fact.Confidence, Price: enrich.Micros(fact.PriceMicros)})
		}
	}
	return enrich.NewRecord(facts...), nil
}

func decodeValue(fact *recordv1.Fact) enrich.Value {
	switch value := fact.Value.(type) {
	case *recordv1.Fact_Text:
		return enrich.TextValue(value.Text)
	case *recordv1.Fact_Word:
		return enrich.WordValue(value.Word)
	case *recordv1.Fact_Number:
		return enrich.NumberValue(value.Number)
	case *recordv1.Fact_List:
		return enrich.ListValue(value.List.GetItems())
	default:
		return enrich.Value{}
	}
}
