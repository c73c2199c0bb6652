package server

import (
	"context"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// readFilter translates what chooses dead letters.
func readFilter(message *enrichv1.DeadLetterFilter) ledger.DeadFilter {
	filter := ledger.DeadFilter{Kind: ledger.DeadKind(message.GetKind()), Account: message.GetAccount(), Reason: message.GetReason(),
		Provider: message.GetProvider(), Lane: laneOr(message.GetLane(), ""), Resolved: message.GetResolved()}
	if message.GetSince() != nil {
		filter.Since = message.GetSince().AsTime()
	}
	if message.GetBefore() != nil {
		filter.Before = message.GetBefore().AsTime()
	}
	return filter
}

// ListDeadLetters lists dead letters and counts them.
func (l *leadAdminService) ListDeadLetters(ctx context.Context, message *enrichv1.ListDeadLettersRequest) (*enrichv1.ListDeadLettersResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ListDeadLettersResponse, error) {
		filter := readFilter(message.GetFilter())
		counts, err := leads.Inbox.Count(ctx, filter)
		if err != nil {
			return nil, err
		}
		filter.After, filter.Most = message.GetPageToken(), pageSize(message.GetPageSize())
		letters, err := leads.Inbox.List(ctx, filter)
		response := &enrichv1.ListDeadLettersResponse{Counts: writeDeadCounts(counts)}
		for _, letter := range letters {
			response.DeadLetters = append(response.DeadLetters, writeLetter(letter))
		}
		if len(letters) == filter.Most {
			response.NextPageToken = letters[len(letters)-1].ID
		}
		return response, err
	})
}

// GetDeadLetter returns one dead letter.
func (l *leadAdminService) GetDeadLetter(ctx context.Context, message *enrichv1.GetDeadLetterRequest) (*enrichv1.DeadLetter, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.DeadLetter, error) {
		letter, err := leads.Store.DeadLetter(ctx, message.GetId())
		return writeLetter(letter), err
	})
}

// ResolveDeadLetter closes one without repeating its work.
func (l *leadAdminService) ResolveDeadLetter(ctx context.Context, message *enrichv1.ResolveDeadLetterRequest) (*enrichv1.ResolveDeadLetterResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ResolveDeadLetterResponse, error) {
		if _, err := leads.Store.DeadLetter(ctx, message.GetId()); err != nil {
			return nil, err
		}
		return &enrichv1.ResolveDeadLetterResponse{}, leads.Inbox.Resolve(ctx, message.GetId(), message.GetNote())
	})
}

// mostRefusals is how many refusals the answer to a replay tells.
const mostRefusals = 1000

// ReplayDeadLetters repeats the work of dead letters. Why one that is named alone
// is not repeated is the call's error; of several each has its own result.
func (l *leadAdminService) ReplayDeadLetters(ctx context.Context, message *enrichv1.ReplayDeadLettersRequest) (*enrichv1.ReplayDeadLettersResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ReplayDeadLettersResponse, error) {
		filter := readFilter(message.GetFilter())
		filter.IDs = message.GetIds()
		response := &enrichv1.ReplayDeadLettersResponse{}
		found := map[string]bool{}
		replay := deadletter.Replay{DryRun: message.GetDryRun(), Rate: message.GetRate(), Lane: laneOr(message.GetLane(), ""), Note: message.GetNote()}
		err := leads.Inbox.Replay(ctx, filter, replay, func(result deadletter.Result) error {
			if len(filter.IDs) > 0 {
				found[result.ID] = true
			}
			if result.Refused == "" {
				response.Replayed++
				return nil
			}
			refuse(response, result.ID, result.Target, result.Refused)
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, id := range filter.IDs {
			if found[id] {
				continue
			}
			refused := "resolved"
			if _, err := leads.Store.DeadLetter(ctx, id); err != nil {
				refused = "gone"
			}
			refuse(response, id, "", refused)
		}
		if len(filter.IDs) == 1 && response.Refused == 1 {
			return nil, refusedReplay(ctx, response.GetRefusals()[0])
		}
		return response, nil
	})
}

func refuse(response *enrichv1.ReplayDeadLettersResponse, id, target, reason string) {
	response.Refused++
	if len(response.Refusals) < mostRefusals {
		response.Refusals = append(response.Refusals, &enrichv1.ReplayRefusal{Id: id, Target: target, Reason: reason})
	}
}

// refusedReplay is why the one letter that was named is not repeated.
func refusedReplay(ctx context.Context, refused *enrichv1.ReplayRefusal) error {
	code := codes.FailedPrecondition
	switch refused.GetReason() {
	case "live":
		code = codes.AlreadyExists
	case "gone":
		code = codes.NotFound
	}
	answer := describe(ctx, code, &enrich.Error{Kind: enrich.Invalid, Reason: refused.GetReason(), Offset: -1, Message: "the dead letter is not replayed: " + refused.GetReason()})
	for _, detail := range answer.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && refused.GetTarget() != "" {
			info.Metadata["target"] = refused.GetTarget()
			named, err := status.New(answer.Code(), answer.Message()).WithDetails(info)
			if err == nil { // our own details always marshal
				return named.Err()
			}
		}
	}
	return answer.Err()
}

// CompareLead compares a control answer with the stored one.
func (l *leadAdminService) CompareLead(ctx context.Context, message *enrichv1.CompareLeadRequest) (*enrichv1.CompareLeadResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.CompareLeadResponse, error) {
		differences, err := deadletter.Compare(ctx, leads.Store, leads.Engine, message.GetId())
		response := &enrichv1.CompareLeadResponse{}
		for _, difference := range differences {
			response.Attributes = append(response.Attributes, writeDifference(difference))
		}
		return response, err
	})
}
