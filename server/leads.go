package server

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/sinks"
)

// Leads are what LeadService and LeadAdminService stand before. All are needed
// but the secrets.
type Leads struct {
	Store    *ledger.Store
	Engine   *jobs.Engine
	Inbox    *deadletter.Inbox
	Importer *intake.Importer
	// EventSecrets sign events; none: they need no signature.
	EventSecrets []sinks.Secret
	// EventPurpose is what the leads of events are wanted for.
	EventPurpose string
	// MaxImportBytes is the longest file of an import.
	MaxImportBytes int64
	// IsAccount and IsSink tell whether there is one of the name.
	IsAccount func(name string) bool
	IsSink    func(name string) bool
	// Event is told of every event: "accepted", "repeated", "unsigned" or the
	// code of the first cause for which it was refused. It must not wait.
	Event func(result string)
}

// leadService is the leads' service, for gRPC and for REST.
type leadService struct {
	enrichv1.UnimplementedLeadServiceServer
	server *Server
}

var _ enrichv1.LeadServiceServer = (*leadService)(nil)

var errNoStore = &enrich.Error{Kind: enrich.Rejected, Reason: "no_store", Offset: -1,
	Message: "leads are not accepted here: the configuration has no store section, such as store: {path: data/enrichd.db}"}

// withLeads checks a message, does what it asks for, and turns errors into
// statuses. Without a store it refuses.
func withLeads[A any](ctx context.Context, s *Server, message proto.Message, do func(*Leads) (A, error)) (A, error) {
	var none A
	if s.parts.Leads == nil {
		return none, s.statusOf(ctx, errNoStore)
	}
	if err := s.checkRules(message); err != nil {
		return none, s.statusOf(ctx, err)
	}
	answer, err := do(s.parts.Leads)
	if err != nil {
		return none, s.leadStatus(ctx, err)
	}
	return answer, nil
}

// leadStatus is statusOf for the errors of the ledger as well.
func (s *Server) leadStatus(ctx context.Context, err error) error {
	var typed *enrich.Error
	var own *refusal // REST's, which says it best itself
	refuse := func(code codes.Code, reason, message string) error {
		return describe(ctx, code, &enrich.Error{Kind: enrich.Invalid, Reason: reason, Offset: -1, Message: message}).Err()
	}
	switch {
	case errors.As(err, &own), status.Code(err) != codes.Unknown: // made here already
		return err
	case errors.As(err, &typed):
		return s.statusOf(ctx, comeBack(typed))
	case errors.Is(err, errUnknownName):
		return refuse(codes.NotFound, "unknown_name", "there is no lane, account or sink of this name")
	case errors.Is(err, ledger.ErrUnknown):
		return refuse(codes.NotFound, "unknown_id", "there is nothing of this id, or it was erased")
	case ledger.RefusesText(err):
		return refuse(codes.InvalidArgument, "text", "a text holds a NUL or is not UTF-8")
	case errors.Is(err, ledger.ErrLive):
		return refuse(codes.AlreadyExists, "live", "it is in work already")
	case errors.Is(err, ledger.ErrTaken), errors.Is(err, ledger.ErrLost):
		return refuse(codes.FailedPrecondition, "state", "its state does not allow this")
	case ctx.Err() != nil:
		return s.statusOf(ctx, err)
	}
	return s.statusOf(ctx, comeBack(&enrich.Error{Kind: enrich.Unavailable, Reason: "store", Offset: -1, Message: "the store cannot be used at the moment", Cause: err}))
}

// storeDelay is when a caller is told to come back to what accepts leads and is
// away, nobody knows for how long.
const storeDelay = 5 * time.Second

// comeBack says when asking again can help, where an error about leads does not.
func comeBack(e *enrich.Error) *enrich.Error {
	if e.Kind != enrich.Unavailable || !e.ReadyAt.IsZero() {
		return e
	}
	told := *e
	told.ReadyAt = time.Now().Add(storeDelay)
	return &told
}

// Submit accepts leads.
func (l *leadService) Submit(ctx context.Context, message *enrichv1.SubmitRequest) (*enrichv1.SubmitResponse, error) {
	s, call := l.server, callOf(ctx)
	return withLeads(ctx, s, message, func(leads *Leads) (*enrichv1.SubmitResponse, error) {
		if more := len(message.GetLeads()) - 1; more > 0 {
			call.rate = s.rates.charge(&call.caller, int64(more))
		}
		if call.key != "" {
			if len(message.GetLeads()) > 1 {
				return nil, badKey("several leads have keys of their own: give each an idempotencyKey")
			}
			if err := takeKey(call, &message.Leads[0].IdempotencyKey); err != nil {
				return nil, err
			}
		}
		response := &enrichv1.SubmitResponse{Results: make([]*enrichv1.SubmitResult, len(message.GetLeads()))}
		var good []jobs.Lead
		var places []int
		for i, each := range message.GetLeads() {
			lead, err := s.readLead(each, call.caller.Account)
			if err != nil {
				response.Results[i] = s.writeRefusal(ctx, "leads["+strconv.Itoa(i)+"]", enrich.AsError(err))
				continue
			}
			good, places = append(good, lead), append(places, i)
		}
		results, err := leads.Engine.Submit(ctx, call.caller.Account, good...)
		if err != nil && len(results) == 0 {
			return nil, err
		}
		for i, at := range places {
			switch {
			case i >= len(results): // a later page could not be written down
				response.Results[at] = s.writeRefusal(ctx, "", enrich.AsError(err))
			case results[i].Refused != nil:
				response.Results[at] = s.writeRefusal(ctx, "leads["+strconv.Itoa(at)+"]", results[i].Refused)
			default:
				response.Results[at] = &enrichv1.SubmitResult{Result: &enrichv1.SubmitResult_Accepted{Accepted: writeReceipt(results[i].Receipt)}}
			}
		}
		return response, nil
	})
}

// readLead checks one lead and what the account may ask, and translates it.
func (s *Server) readLead(message *enrichv1.NewLead, account enrich.Account) (jobs.Lead, error) {
	if err := s.checkRules(message); err != nil {
		return jobs.Lead{}, err
	}
	wanted, err := readFields(message.GetFields().GetPaths())
	if err != nil {
		return jobs.Lead{}, err
	}
	lead := jobs.Lead{Email: message.GetEmail(), Domain: message.GetDomain(), Key: message.GetIdempotencyKey(),
		Lane: laneOr(message.GetLane(), enrich.Standard), Origin: "api", Budget: message.GetBudget().AsDuration()}
	consent := readConsent(message.GetConsent())
	lead.Want = ledger.Want{Attributes: wanted, Purpose: message.GetPurpose(), MaxAge: message.GetMaxAge().AsDuration(),
		Consent: ledger.Consent{Basis: consent.Basis, Source: consent.Source, CollectedAt: consent.CollectedAt},
		Refresh: message.GetMaxAge() != nil && message.GetMaxAge().AsDuration() == 0}
	if message.MaxCostMicros != nil {
		cost := enrich.Micros(message.GetMaxCostMicros())
		lead.Want.MaxCost = &cost
	}
	if message.GetContact() != nil {
		if lead.Contact, err = protojson.Marshal(message.GetContact()); err != nil {
			return jobs.Lead{}, err
		}
	}
	return lead, allowed(account, lead)
}

// allowed tells what the account may not ask of a lead.
func allowed(account enrich.Account, lead jobs.Lead) error {
	request := enrich.Request{Account: account, Email: lead.Email, Domain: lead.Domain, Lane: lead.Lane, Wanted: lead.Want.Attributes, Purpose: lead.Want.Purpose}
	return request.Allowed()
}

func laneOr(lane enrichv1.Lane, otherwise enrich.Lane) enrich.Lane {
	if lane == enrichv1.Lane_LANE_UNSPECIFIED {
		return otherwise
	}
	return lanes[lane]
}

// writeRefusal is the result of a lead that was not accepted; its field stands
// below the given one.
func (s *Server) writeRefusal(ctx context.Context, below string, refused *enrich.Error) *enrichv1.SubmitResult {
	told := *refused
	if told.Field != "" && below != "" {
		told.Field = below + "." + told.Field
	}
	return &enrichv1.SubmitResult{Result: &enrichv1.SubmitResult_Error{Error: status.Convert(s.statusOf(ctx, comeBack(&told))).Proto()}}
}

// own returns a lead that the caller may see. Others' are unknown to it.
func (l *Leads) own(ctx context.Context, call *call, id string) (ledger.Lead, error) {
	lead, err := l.Store.Lead(ctx, id)
	if err == nil && lead.Account != call.caller.Account.Name && !call.caller.Admin {
		err = ledger.ErrUnknown
	}
	return lead, err
}

// GetLead returns one lead.
func (l *leadService) GetLead(ctx context.Context, message *enrichv1.GetLeadRequest) (*enrichv1.Lead, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.Lead, error) {
		lead, err := leads.own(ctx, callOf(ctx), message.GetId())
		if err != nil {
			return nil, err
		}
		written := writeLead(lead)
		if written.Answer, err = readReport(lead.Result); err != nil {
			return nil, err
		}
		events, err := leads.Store.Timeline(ctx, lead.Subject)
		for _, event := range events { // the subject's, of which others' are none of the caller's business
			if event.Lead == lead.ID {
				written.Timeline = append(written.Timeline, writeEvent(event))
			}
		}
		return written, err
	})
}

const defaultPage = 100

func pageSize(asked int32) int {
	if asked == 0 {
		return defaultPage
	}
	return int(asked)
}

// ListLeads lists leads.
func (l *leadService) ListLeads(ctx context.Context, message *enrichv1.ListLeadsRequest) (*enrichv1.ListLeadsResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ListLeadsResponse, error) {
		call := callOf(ctx)
		filter := ledger.Filter{Account: message.GetAccount(), Origin: message.GetOrigin(), After: message.GetPageToken(), Most: pageSize(message.GetPageSize())}
		if !call.caller.Admin {
			filter.Account = call.caller.Account.Name
		}
		for _, state := range message.GetStates() {
			filter.States = append(filter.States, statesIn[state])
		}
		found, err := leads.Store.Leads(ctx, filter)
		response := &enrichv1.ListLeadsResponse{}
		for _, lead := range found {
			response.Leads = append(response.Leads, writeLead(lead))
		}
		if len(found) == filter.Most {
			response.NextPageToken = found[len(found)-1].ID
		}
		return response, err
	})
}

// CancelLead ends a lead.
func (l *leadService) CancelLead(ctx context.Context, message *enrichv1.CancelLeadRequest) (*enrichv1.CancelLeadResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.CancelLeadResponse, error) {
		if _, err := leads.own(ctx, callOf(ctx), message.GetId()); err != nil {
			return nil, err
		}
		return &enrichv1.CancelLeadResponse{}, leads.Engine.Cancel(ctx, message.GetId(), "caller")
	})
}

// RetryLead works a lead again.
func (l *leadService) RetryLead(ctx context.Context, message *enrichv1.RetryLeadRequest) (*enrichv1.RetryLeadResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.RetryLeadResponse, error) {
		if _, err := leads.own(ctx, callOf(ctx), message.GetId()); err != nil {
			return nil, err
		}
		return &enrichv1.RetryLeadResponse{}, leads.Engine.Retry(ctx, message.GetId())
	})
}
