package server

import (
	"errors"
	"strings"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

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
func (s *Server) readRequest(message *enrichv1.EnrichRequest, account enrich.Account) (enrich.Request, error) {
	if !plain(message) {
		if err := s.checkRules(message); err != nil {
			return enrich.Request{}, err
		}
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
		Purpose:        message.GetPurpose(),
		Consent:        readConsent(message.GetConsent()),
	}
	if message.GetMaxAge() != nil && request.MaxAge == 0 && request.Cache == enrich.CacheDefault {
		// No fact is that young. A zero MaxAge says nothing about age.
		request.Cache = enrich.CacheRefresh
	}
	if message.MaxCostMicros != nil {
		cost := enrich.Micros(message.GetMaxCostMicros())
		request.MaxCost = &cost
	}
	return request, nil
}

// plain tells whether a message obviously keeps every rule that the contract has
// for it. To have them all checked costs a tenth of a memory hit, so the checker,
// which alone says what is wrong, sees only the other messages.
func plain(message *enrichv1.EnrichRequest) bool {
	_, laneKnown := lanes[message.GetLane()]
	_, cacheKnown := cachePolicies[message.GetCache()]
	return (message.GetEmail() != "" || message.GetDomain() != "") &&
		laneKnown && cacheKnown &&
		plainDuration(message.GetBudget(), 10*time.Millisecond, 10*time.Minute) &&
		plainDuration(message.GetMaxAge(), 0, 10*365*24*time.Hour) &&
		message.GetMaxCostMicros() >= 0 &&
		message.GetConsent() == nil &&
		plainText(message.GetIdempotencyKey(), 255, func(c byte) bool { return '!' <= c && c <= '~' }) &&
		plainText(message.GetPurpose(), 64, func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' })
}

// plainDuration tells whether a duration is unset, or in its normal form and
// between two others.
func plainDuration(given *durationpb.Duration, least, most time.Duration) bool {
	return given == nil || given.IsValid() && least <= given.AsDuration() && given.AsDuration() <= most
}

// plainText tells whether a text has at most so many bytes, all of them allowed.
func plainText(text string, most int, allowed func(byte) bool) bool {
	if len(text) > most {
		return false
	}
	for i := range len(text) {
		if !allowed(text[i]) {
			return false
		}
	}
	return true
}

func readConsent(message *enrichv1.Consent) (consent enrich.Consent) {
	if message == nil {
		return consent
	}
	consent = enrich.Consent{Basis: message.GetBasis(), Source: message.GetSource()}
	if at := message.GetCollectedAt(); at != nil {
		consent.CollectedAt = at.AsTime()
	}
	return consent
}

// checkRules reports the first rule of the contract that the message breaks.
func (s *Server) checkRules(message proto.Message) error {
	err := s.rules.Validate(message)
	var broken *protovalidate.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &broken) && len(broken.Violations) > 0:
		violation := broken.Violations[0].Proto
		field, text := protovalidate.FieldPathString(violation.GetField()), violation.GetMessage()
		if field == "" { // a rule of the whole message names the field itself
			field, text, _ = strings.Cut(text, ": ")
		}
		return &enrich.Error{Kind: enrich.Invalid, Field: field, Reason: violation.GetRuleId(), Offset: -1, Message: field + ": " + text}
	default:
		return &enrich.Error{Kind: enrich.Internal, Message: "the request could not be checked", Offset: -1, Cause: err}
	}
}
