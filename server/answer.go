package server

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

var outcomes = map[enrich.Completeness]enrichv1.Outcome{
	enrich.NotFound:    enrichv1.Outcome_OUTCOME_NOT_FOUND,
	enrich.PartlyFound: enrichv1.Outcome_OUTCOME_PARTIAL,
	enrich.Complete:    enrichv1.Outcome_OUTCOME_COMPLETE,
}

func tierOf(tier enrich.Tier) enrichv1.CacheTier {
	switch tier {
	case enrich.MemoryTier:
		return enrichv1.CacheTier_CACHE_TIER_MEMORY
	case enrich.RedisTier:
		return enrichv1.CacheTier_CACHE_TIER_REDIS
	default:
		return enrichv1.CacheTier_CACHE_TIER_UNSPECIFIED
	}
}

var gapKinds = map[enrich.GapKind]enrichv1.Gap_Kind{
	enrich.GapAbsent:   enrichv1.Gap_KIND_ABSENT,
	enrich.GapFailed:   enrichv1.Gap_KIND_FAILED,
	enrich.GapNotAsked: enrichv1.Gap_KIND_NOT_ASKED,
}

// writeAnswer translates an answer into the contract's message.
func writeAnswer(answer enrich.Answer) *enrichv1.EnrichResponse {
	message := &enrichv1.EnrichResponse{
		Email:          answer.Address.Reveal(),
		Domain:         answer.Domain.String(),
		Outcome:        outcomes[answer.Completeness],
		Person:         &enrichv1.Person{},
		Company:        &enrichv1.Company{},
		Provenance:     make(map[string]*enrichv1.Provenance, len(answer.Found)),
		Gaps:           make(map[string]*enrichv1.Gap, len(answer.Gaps)),
		CostMicros:     int64(answer.Cost),
		IdempotencyKey: answer.IdempotencyKey,
	}
	for _, found := range answer.Found {
		writeFact(message, found.Fact)
		message.Provenance[string(found.Fact.Attribute)] = &enrichv1.Provenance{
			Provider:   found.Fact.Source,
			FetchedAt:  timestamppb.New(found.Fact.FetchedAt),
			Confidence: found.Fact.Confidence,
			Tier:       tierOf(found.Tier),
			FreshUntil: timestamppb.New(found.FreshUntil),
		}
	}
	for attribute, gap := range answer.Gaps {
		message.Gaps[string(attribute)] = &enrichv1.Gap{Kind: gapKinds[gap.Kind], Reason: gap.Reason}
	}
	for _, attempt := range answer.Attempts {
		message.Attempts = append(message.Attempts, writeAttempt(attempt))
	}
	if proto.Size(message.Person) == 0 {
		message.Person = nil
	}
	if proto.Size(message.Company) == 0 {
		message.Company = nil
	}
	if !answer.Address.IsZero() {
		message.Address = &enrichv1.Address{
			Role:       answer.Address.Role(),
			Free:       answer.Address.Free(),
			Disposable: answer.Address.Disposable(),
			Repairs:    answer.Address.Repairs(),
			Suggestion: answer.Address.Suggestion(),
		}
	}
	return message
}

func writeAttempt(attempt enrich.Attempt) *enrichv1.Attempt {
	message := &enrichv1.Attempt{
		Provider: attempt.Provider,
		Outcome:  string(attempt.Outcome),
		Waited:   durationpb.New(attempt.Waited),
		Took:     durationpb.New(attempt.Took),
		Shared:   attempt.Shared,
	}
	if attempt.Charged.Known {
		message.ChargedMicros = proto.Int64(int64(attempt.Charged.Micros))
	}
	return message
}

// writeFact sets the fact's field in the message's person or company. The
// catalog of attributes is read from the same descriptors, so the field exists.
func writeFact(message *enrichv1.EnrichResponse, fact *enrich.Fact) {
	spec, _ := enrich.SpecOf(fact.Attribute)
	record := message.Person.ProtoReflect()
	if fact.Attribute.Kind() == enrich.Company {
		record = message.Company.ProtoReflect()
	}
	switch spec.Form {
	case enrich.Text:
		record.Set(spec.Field, protoreflect.ValueOfString(fact.Value.Text()))
	case enrich.Word:
		if number, ok := enrich.NumberOf(spec.Field.Enum(), fact.Value.Text()); ok {
			record.Set(spec.Field, protoreflect.ValueOfEnum(number))
		}
	case enrich.Number:
		if spec.Field.Kind() == protoreflect.Int32Kind {
			record.Set(spec.Field, protoreflect.ValueOfInt32(int32(fact.Value.Number())))
			return
		}
		record.Set(spec.Field, protoreflect.ValueOfInt64(fact.Value.Number()))
	case enrich.List:
		list := record.Mutable(spec.Field).List()
		for _, text := range fact.Value.List() {
			list.Append(protoreflect.ValueOfString(text))
		}
	}
}
