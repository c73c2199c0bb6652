package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// takeKey makes REST's Idempotency-Key the message's, in which gRPC has it.
func takeKey(call *call, key *string) error {
	switch {
	case call.key == "":
		return nil
	case *key != "" && *key != call.key:
		return badKey("the header Idempotency-Key and the body name two keys")
	}
	*key = call.key
	return nil
}

func badKey(text string) error {
	return &enrich.Error{Kind: enrich.Invalid, Field: "idempotency_key", Reason: "idempotency_key", Offset: -1, Message: text}
}

// fingerprint tells requests of one key apart: all of the message counts but
// the key itself.
func fingerprint(message proto.Message, key *string) ([sha256.Size]byte, error) {
	kept := *key
	*key = ""
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	*key = kept
	return sha256.Sum256(wire), err
}

// keyOf is a key as answers are kept under it. Keys of different methods are
// different ones, and so are those of an account that may see something else by
// now: what was kept before may hold what it must not see any more.
func keyOf(call *call, key string) string {
	account := &call.caller.Account
	return fmt.Sprintf("%s %q %q %s", call.method.name, account.Attributes, account.Purposes, key)
}

// mayTell tells whether a kept answer may be given again: not to whom it tells
// of, once that is suppressed.
func (s *Server) mayTell(response *enrichv1.EnrichResponse) bool {
	var address, domain string
	if response.GetPerson() != nil {
		address = response.GetEmail()
	}
	if response.GetCompany() != nil {
		domain = response.GetDomain()
	}
	return s.parts.Reciter.MayTell(address, domain)
}

// answerOnce answers a question that has a key.
func (s *Server) answerOnce(ctx context.Context, call *call, message *enrichv1.EnrichRequest, request enrich.Request) (*enrichv1.EnrichResponse, string, error) {
	print, err := fingerprint(message, &message.IdempotencyKey)
	if err != nil {
		return nil, sourceNone, err
	}
	var worked *enrichv1.EnrichResponse
	var own []byte
	var source string
	wire, err := s.parts.Repeats.Do(ctx, call.caller.Account.Name, keyOf(call, message.GetIdempotencyKey()), print,
		func(ctx context.Context) ([]byte, []email.Key, error) {
			answer, err := s.parts.Enricher.Enrich(ctx, request)
			if err != nil {
				return nil, nil, err
			}
			worked, source = writeAnswer(answer), sourceOf(&answer)
			own, err = proto.Marshal(worked)
			return own, subjectsOf(nil, &answer), err
		})
	switch {
	case err != nil:
		return nil, sourceNone, err
	case worked != nil && bytes.Equal(wire, own):
		return worked, source, nil
	}
	response := &enrichv1.EnrichResponse{}
	if err := proto.Unmarshal(wire, response); err != nil {
		return nil, sourceNone, err
	}
	if s.mayTell(response) {
		return response, sourceRepeat, nil
	}
	answer, err := s.parts.Enricher.Enrich(ctx, request)
	if err != nil {
		return nil, sourceNone, err
	}
	return writeAnswer(answer), sourceOf(&answer), nil
}

// subjectsOf adds the subjects that an answer tells of.
func subjectsOf(subjects []email.Key, answer *enrich.Answer) []email.Key {
	if !answer.Address.IsZero() {
		subjects = append(subjects, answer.Address.Key())
	}
	if !answer.Domain.IsZero() {
		subjects = append(subjects, answer.Domain.Key())
	}
	return subjects
}

// errPasses keeps a batch from being kept: some of its errors pass with time.
var errPasses = errors.New("errors of the batch pass with time")

// answerBatchOnce answers a batch that has a key. It is kept when no error in it
// passes with time, so that sending it again gets the rest.
func (s *Server) answerBatchOnce(ctx context.Context, call *call, message *enrichv1.BatchEnrichRequest) (*enrichv1.BatchEnrichResponse, error) {
	print, err := fingerprint(message, &message.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	var worked *enrichv1.BatchEnrichResponse
	var own []byte
	wire, err := s.parts.Repeats.Do(ctx, call.caller.Account.Name, keyOf(call, message.GetIdempotencyKey()), print,
		func(ctx context.Context) (_ []byte, subjects []email.Key, err error) {
			worked, subjects = s.answerBatch(ctx, call, message)
			for _, result := range worked.GetResults() {
				if passes(codes.Code(result.GetError().GetCode())) {
					return nil, nil, errPasses
				}
			}
			own, err = proto.Marshal(worked)
			return own, subjects, err
		})
	switch {
	case errors.Is(err, errPasses) && worked == nil: // another's, for whom this one waited
		worked, _ = s.answerBatch(ctx, call, message)
		return worked, nil
	case errors.Is(err, errPasses):
		return worked, nil
	case err != nil:
		return nil, err
	case worked != nil && bytes.Equal(wire, own):
		return worked, nil
	}
	call.source = sourceRepeat
	response := &enrichv1.BatchEnrichResponse{}
	if err := proto.Unmarshal(wire, response); err != nil {
		return nil, err
	}
	for _, result := range response.GetResults() {
		if told := result.GetResponse(); told != nil && !s.mayTell(told) {
			worked, _ = s.answerBatch(ctx, call, message)
			return worked, nil
		}
	}
	return response, nil
}

// passes tells whether an error of this code may be gone when the same request
// is sent again.
func passes(code codes.Code) bool {
	return code != codes.OK && code != codes.InvalidArgument && code != codes.PermissionDenied
}
