package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// leadAdminService is the operators' service for accepted work, for gRPC and for
// REST.
type leadAdminService struct {
	enrichv1.UnimplementedLeadAdminServiceServer
	server *Server
}

var _ enrichv1.LeadAdminServiceServer = (*leadAdminService)(nil)

var workScopes = map[enrichv1.WorkScope]ledger.Scope{
	enrichv1.WorkScope_WORK_SCOPE_ALL:     ledger.ScopeAll,
	enrichv1.WorkScope_WORK_SCOPE_LANE:    ledger.ScopeLane,
	enrichv1.WorkScope_WORK_SCOPE_ACCOUNT: ledger.ScopeAccount,
	enrichv1.WorkScope_WORK_SCOPE_SINK:    ledger.ScopeSink,
}

var workScopesOut = inverse(workScopes)

// GetWork counts what is where.
func (l *leadAdminService) GetWork(ctx context.Context, message *enrichv1.GetWorkRequest) (*enrichv1.GetWorkResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.GetWorkResponse, error) {
		response := &enrichv1.GetWorkResponse{}
		counts, err := leads.Store.Counts(ctx)
		if err != nil {
			return nil, err
		}
		for _, count := range counts {
			response.Leads = append(response.Leads, &enrichv1.LeadCount{Lane: lanesOut[count.Lane], State: states[count.State], Leads: count.Leads, Oldest: timeOf(count.Oldest)})
		}
		live, err := leads.Engine.Queue().Stats(ctx)
		if err != nil {
			return nil, err
		}
		for _, lane := range jobs.Lanes {
			for _, state := range []string{"available", "running"} {
				response.Jobs = append(response.Jobs, &enrichv1.JobCount{Lane: string(lane), State: state, Jobs: int64(live[lane][state])})
			}
		}
		dead, err := leads.Inbox.Count(ctx, ledger.DeadFilter{})
		if err != nil {
			return nil, err
		}
		response.DeadLetters = writeDeadCounts(dead)
		stops, err := leads.Engine.Stops(ctx)
		for _, stop := range stops {
			response.Stops = append(response.Stops, &enrichv1.WorkStop{Scope: workScopesOut[stop.Scope], Name: stop.Name, Reason: stop.Reason, Until: timeOf(stop.Until), Since: timeOf(stop.At)})
		}
		return response, err
	})
}

// errUnknownName is the error of stopping what there is not.
var errUnknownName = fmt.Errorf("no such name: %w", ledger.ErrUnknown)

// checkStop refuses names that nothing has.
func (l *Leads) checkStop(scope ledger.Scope, name string) error {
	known := true
	switch scope {
	case ledger.ScopeLane:
		known = slices.Contains(jobs.Lanes, enrich.Lane(name))
	case ledger.ScopeAccount:
		known = l.IsAccount(name)
	case ledger.ScopeSink:
		known = l.IsSink(name)
	}
	if !known {
		return errUnknownName
	}
	return nil
}

// PauseWork stops some work.
func (l *leadAdminService) PauseWork(ctx context.Context, message *enrichv1.PauseWorkRequest) (*enrichv1.PauseWorkResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.PauseWorkResponse, error) {
		scope := workScopes[message.GetScope()]
		if err := leads.checkStop(scope, message.GetName()); err != nil {
			return nil, err
		}
		return &enrichv1.PauseWorkResponse{}, leads.Engine.Pause(ctx, scope, message.GetName(), "operator")
	})
}

// ResumeWork lets work go on, that of a sink or an account too that is not
// configured any more.
func (l *leadAdminService) ResumeWork(ctx context.Context, message *enrichv1.ResumeWorkRequest) (*enrichv1.ResumeWorkResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ResumeWorkResponse, error) {
		return &enrichv1.ResumeWorkResponse{}, leads.Engine.Resume(ctx, workScopes[message.GetScope()], message.GetName())
	})
}

// ListJobs lists jobs of the queue.
func (l *leadAdminService) ListJobs(ctx context.Context, message *enrichv1.ListJobsRequest) (*enrichv1.ListJobsResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ListJobsResponse, error) {
		entries, err := leads.Engine.Queue().List(ctx, pageSize(message.GetPageSize()), message.GetStates()...)
		response := &enrichv1.ListJobsResponse{}
		for _, entry := range entries { // its last word is for the log: an error of ours
			response.Jobs = append(response.Jobs, &enrichv1.Job{Id: entry.ID, Kind: string(entry.Kind), Target: entry.Target, Lane: string(entry.Lane),
				State: entry.State, Attempt: int32(entry.Attempt), ReadyTime: timeOf(entry.ReadyAt)})
		}
		return response, err
	})
}

// stuckAfter is how long work is under way until it is stuck, unless asked
// otherwise.
const stuckAfter = 5 * time.Minute

// ListStuck lists leads that are in work for too long.
func (l *leadAdminService) ListStuck(ctx context.Context, message *enrichv1.ListStuckRequest) (*enrichv1.ListStuckResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ListStuckResponse, error) {
		longer := stuckAfter
		if message.GetLonger() != nil {
			longer = message.GetLonger().AsDuration()
		}
		found, err := leads.Store.Leads(ctx, ledger.Filter{StuckSince: time.Now().Add(-longer), Most: pageSize(message.GetPageSize())})
		response := &enrichv1.ListStuckResponse{}
		for _, lead := range found {
			response.Leads = append(response.Leads, writeLead(lead))
		}
		return response, err
	})
}

// ResetLead takes a lead from its worker.
func (l *leadAdminService) ResetLead(ctx context.Context, message *enrichv1.ResetLeadRequest) (*enrichv1.ResetLeadResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ResetLeadResponse, error) {
		if _, err := leads.Store.Lead(ctx, message.GetId()); err != nil {
			return nil, err
		}
		return &enrichv1.ResetLeadResponse{}, leads.Engine.Reset(ctx, message.GetId())
	})
}

// ExportLedger sends charges.
func (l *leadAdminService) ExportLedger(message *enrichv1.ExportLedgerRequest, stream grpc.ServerStreamingServer[enrichv1.Charge]) error {
	_, err := withLeads(stream.Context(), l.server, message, func(leads *Leads) (struct{}, error) {
		return struct{}{}, leads.export(stream.Context(), message, stream.Send)
	})
	return err
}

func (l *Leads) export(ctx context.Context, message *enrichv1.ExportLedgerRequest, send func(*enrichv1.Charge) error) error {
	since := time.Time{}
	if message.GetSince() != nil {
		since = message.GetSince().AsTime()
	}
	return l.Store.EachCharge(ctx, since, func(charge ledger.Charge) error {
		written := &enrichv1.Charge{Key: charge.Key, Account: charge.Account, Lead: charge.Lead, Provider: charge.Provider, Time: timeOf(charge.At)}
		if charge.Charged.Known {
			written.Micros = proto.Int64(int64(charge.Charged.Micros))
		}
		return send(written)
	})
}

// exportREST sends charges as lines. When the store fails in the middle, the last
// line is an error, so that half an export is not taken for one.
func (s *Server) exportREST(w http.ResponseWriter, r *http.Request, call *call) {
	body, err := s.readBody(w, r)
	message := &enrichv1.ExportLedgerRequest{}
	if err == nil && len(body.text) > 0 {
		if problem := protojson.Unmarshal(body.text, message); problem != nil {
			err = explainBody(body.text, problem, message.ProtoReflect().Descriptor())
		}
	}
	if err != nil {
		s.writeProblem(r.Context(), w, err)
		return
	}
	sent := false
	_, err = withLeads(r.Context(), s, message, func(leads *Leads) (struct{}, error) {
		w.Header().Set("Content-Type", ndjson)
		return struct{}{}, leads.export(r.Context(), message, func(charge *enrichv1.Charge) error {
			text, err := protojson.Marshal(charge)
			if err != nil {
				return err
			}
			sent = true
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.BodyTimeout))
			_, err = w.Write(append(text, '\n'))
			return err
		})
	})
	switch {
	case err != nil && sent:
		problem := status.Convert(err)
		call.code = problem.Code()
		if text, err := protojson.Marshal(problem.Proto()); err == nil {
			_, _ = w.Write(append(text, '\n'))
		}
	case err != nil:
		s.writeRaw(r.Context(), w, err)
	}
}
