package server

import (
	"errors"
	"strings"

	"buf.build/go/protovalidate"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

var lanes = map[enrichv1.Lane]enrich.Lane{
	enrichv1.Lane_LANE_UNSPECIFIED: enrich.Interactive,
	enrichv1.Lane_LANE_INTERACTIVE: enrich.Interactive,
	enrichv1.Lane_LANE_STANDARD:    enrich.Standard,
	enrichv1.Lane_LANE_BULK:        enrich.Bulk,
}

var cachePolicies = map[enrichv1.CachePolicy]enrich.CachePolicy{
	enrichv1.CachePolicy_CACHE_POLICY_UNSPECIFIED: enrich.CacheDefault,
	enrichv1.CachePolicy_CACHE_POLICY_REFRESH:     enrich.CacheRefresh,
	enrichv1.CachePolicy_CACHE_POLICY_ONLY:        enrich.CacheOnly,
}

// readRequest checks a message against the contract's rules and translates it.
func readRequest(rules protovalidate.Validator, message *enrichv1.EnrichRequest, account enrich.Account) (enrich.Request, error) {
	if err := checkRules(rules, message); err != nil {
		return enrich.Request{}, err
	}
	wanted, err := readFields(message.GetFields().GetPaths())
	if err != nil {
		return enrich.Request{}, err
	}
	request := enrich.Request{
		Account:        account,
		Email:          message.GetEmail(),
		Domain:         message.GetDomain(),
		Wanted:         wanted,
		Lane:           lanes[message.GetLane()],
		Budget:         message.GetBudget().AsDuration(),
		MaxAge:         message.GetMaxAge().AsDuration(),
		Cache:          cachePolicies[message.GetCache()],
		IdempotencyKey: message.GetIdempotencyKey(),
	}
	if message.MaxCostMicros != nil {
		cost := enrich.Micros(message.GetMaxCostMicros())
		request.MaxCost = &cost
	}
	if consent := message.GetConsent(); consent != nil {
		request.Consent = &enrich.Consent{Basis: consent.GetBasis(), Source: consent.GetSource()}
		if consent.GetCollectedAt() != nil {
			request.Consent.CollectedAt = consent.GetCollectedAt().AsTime()
		}
	}
	return request, nil
}

// checkRules reports the first rule of the contract that the message breaks.
func checkRules(rules protovalidate.Validator, message *enrichv1.EnrichRequest) error {
	err := rules.Validate(message)
	var broken *protovalidate.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &broken) && len(broken.Violations) > 0:
		violation := broken.Violations[0].Proto
		field := protovalidate.FieldPathString(violation.GetField())
		return &enrich.Error{
			Kind: enrich.Invalid, Field: field, Reason: violation.GetRuleId(), Offset: -1,
			Message: strings.TrimSpace(field + ": " + violation.GetMessage()),
		}
	default:
		return &enrich.Error{Kind: enrich.Internal, Message: "the request could not be checked", Offset: -1, Cause: err}
	}
}

// readFields turns the paths of a field mask into attributes; "person" and
// "company" stand for all of theirs.
func readFields(paths []string) ([]enrich.Attribute, error) {
	var wanted []enrich.Attribute
	for _, path := range paths {
		switch _, known := enrich.SpecOf(enrich.Attribute(path)); {
		case known:
			wanted = append(wanted, enrich.Attribute(path))
		case path == enrich.Person.String():
			wanted = append(wanted, enrich.AttributesOf(enrich.Person)...)
		case path == enrich.Company.String():
			wanted = append(wanted, enrich.AttributesOf(enrich.Company)...)
		default:
			return nil, &enrich.Error{
				Kind: enrich.Invalid, Field: "fields", Reason: "unknown_attribute", Offset: -1,
				Message: "fields: a path is not person, company or one of their fields",
			}
		}
	}
	return wanted, nil
}
