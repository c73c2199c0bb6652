package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// ReceiveEvent accepts the lead of an event. Its caller was authenticated.
func (l *leadService) ReceiveEvent(ctx context.Context, message *enrichv1.ReceiveEventRequest) (*enrichv1.ReceiveEventResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ReceiveEventResponse, error) {
		return leads.receive(ctx, callOf(ctx).caller.Account, message.GetEvent())
	})
}

// receive accepts the lead of an event whose sender is known.
func (l *Leads) receive(ctx context.Context, account enrich.Account, body []byte) (*enrichv1.ReceiveEventResponse, error) {
	event, err := intake.ParseEvent(body, time.Now())
	var refused *intake.RefusedError
	switch {
	case errors.As(err, &refused):
		l.Event(refused.Causes[0].Code)
		return nil, refusedEvent(refused)
	case err != nil:
		return nil, err
	}
	event.Purpose = l.EventPurpose
	if err := allowed(account, jobs.Lead{Email: "event", Lane: enrich.Interactive, Want: ledger.Want{Purpose: event.Purpose}}); err != nil {
		denied := *enrich.AsError(err)
		if denied.Field == "purpose" { // which no sender of an event can name
			denied.Kind, denied.Field, denied.Reason = enrich.Denied, "", "event_purpose"
			denied.Message = "events of this account are not accepted: intake.event_purpose names none of its purposes"
		}
		l.Event(denied.Reason)
		return nil, &denied
	}
	result, err := event.Accept(ctx, l.Store, l.Engine, account)
	switch {
	case err != nil:
		return nil, err
	case result.Refused != nil:
		l.Event(result.Refused.Reason)
		told := *result.Refused
		told.Field = "event.contact.email"
		if told.Reason == intake.ReasonReused {
			told.Field = "event.eventId"
		}
		return nil, &told
	case result.Receipt.New:
		l.Event("accepted")
	default:
		l.Event("repeated")
	}
	return &enrichv1.ReceiveEventResponse{Lead: writeReceipt(result.Receipt)}, nil
}

// refusedEvent tells the first cause, and where the others are, without values.
func refusedEvent(refused *intake.RefusedError) error {
	first := refused.Causes[0]
	return &enrich.Error{Kind: enrich.Invalid, Field: strings.ReplaceAll("event"+first.Pointer, "/", "."), Reason: first.Code, Offset: -1,
		Message: "the event is not as /schemas/lead-captured.json says: " + refused.Places()}
}

var errUnsigned = &enrich.Error{Kind: enrich.Denied, Reason: "signature", Offset: -1,
	Message: "the event's webhook-signature does not hold, or its webhook-timestamp is too old"}

// eventREST receives an event as it was signed.
func (s *Server) eventREST(w http.ResponseWriter, r *http.Request, call *call) {
	s.answerREST(w, r, func(ctx context.Context) (proto.Message, error) {
		body, err := s.readBody(w, r)
		if err != nil {
			return nil, err
		}
		return withLeads(ctx, s, &enrichv1.ReceiveEventRequest{Event: body.text}, func(leads *Leads) (*enrichv1.ReceiveEventResponse, error) {
			if len(leads.EventSecrets) > 0 && intake.Verify(r.Header, body.text, leads.EventSecrets, time.Now()) != nil {
				leads.Event("unsigned")
				return nil, errUnsigned
			}
			return leads.receive(ctx, call.caller.Account, body.text)
		})
	})
}

// answerREST answers a request beside the gateway.
func (s *Server) answerREST(w http.ResponseWriter, r *http.Request, do func(ctx context.Context) (proto.Message, error)) {
	answer, err := do(r.Context())
	if err != nil {
		s.writeRaw(r.Context(), w, err)
		return
	}
	text, err := protojson.Marshal(answer)
	if err != nil {
		s.writeProblem(r.Context(), w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// writeRaw writes an error that is a status already, or becomes one.
func (s *Server) writeRaw(ctx context.Context, w http.ResponseWriter, err error) {
	var made interface{ GRPCStatus() *status.Status }
	if errors.As(err, &made) {
		answer := made.GRPCStatus()
		writeStatus(ctx, w, httpStatusOf(answer), answer)
		return
	}
	s.writeProblem(ctx, w, err)
}

// CreateImport reads a file that came as a message.
func (l *leadService) CreateImport(ctx context.Context, message *enrichv1.CreateImportRequest) (*enrichv1.Import, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.Import, error) {
		return leads.read(ctx, callOf(ctx).caller.Account, message, bytes.NewReader(message.GetContent()))
	})
}

// read reads a file of leads into the ledger.
func (l *Leads) read(ctx context.Context, account enrich.Account, message *enrichv1.CreateImportRequest, file io.ReadSeeker) (*enrichv1.Import, error) {
	wanted, err := readFields(message.GetFields().GetPaths())
	if err != nil {
		return nil, err
	}
	options := intake.Options{Column: message.GetColumn(), Lane: laneOr(message.GetLane(), enrich.Bulk), Want: ledger.Want{Attributes: wanted, Purpose: message.GetPurpose()}}
	if err := allowed(account, jobs.Lead{Email: "row", Lane: options.Lane, Want: options.Want}); err != nil {
		return nil, err
	}
	imported, err := l.Importer.Import(ctx, account, file, options)
	var unreadable *intake.UnreadableError
	if errors.As(err, &unreadable) {
		return nil, &enrich.Error{Kind: enrich.Invalid, Field: "content", Reason: unreadable.Code, Offset: -1, Message: unreadable.Error()}
	}
	return writeImport(imported), err
}

// importREST reads a file from the body. It is put aside on the disk first: its
// content decides which import it is.
func (s *Server) importREST(w http.ResponseWriter, r *http.Request, call *call) {
	s.answerREST(w, r, func(ctx context.Context) (proto.Message, error) {
		message, err := readImportQuery(r.URL.RawQuery)
		if err != nil {
			return nil, err
		}
		return withLeads(ctx, s, message, func(leads *Leads) (*enrichv1.Import, error) {
			file, err := s.spool(w, r, leads.MaxImportBytes)
			if err != nil {
				return nil, err
			}
			defer file.Close()
			return leads.read(ctx, call.caller.Account, message, file)
		})
	})
}

// readImportQuery reads the parameters of an import's URL, none of which is
// about a person.
func readImportQuery(query string) (*enrichv1.CreateImportRequest, error) {
	message := &enrichv1.CreateImportRequest{}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, badParameter("query", "the URL's parameters cannot be read")
	}
	for name, given := range values {
		if len(given) > 1 {
			return nil, errParameterAgain
		}
		switch value := given[0]; name {
		case "column":
			message.Column = value
		case "fields":
			message.Fields = &fieldmaskpb.FieldMask{Paths: strings.Split(value, ",")}
		case "purpose":
			message.Purpose = value
		case "lane":
			lane, known := enrichv1.Lane_value["LANE_"+strings.ToUpper(value)]
			if !known {
				return nil, badParameter("lane", "lane: is interactive, standard or bulk")
			}
			message.Lane = enrichv1.Lane(lane)
		default:
			return nil, badParameter("query", "the parameters of an import are column, fields, lane and purpose")
		}
	}
	return message, nil
}

var errParameterAgain = &enrich.Error{Kind: enrich.Invalid, Field: "query", Reason: "repeated", Offset: -1,
	Message: "a parameter of an import stands in its URL once; several fields are one list with commas"}

func badParameter(field, text string) error {
	return &enrich.Error{Kind: enrich.Invalid, Field: field, Reason: "query", Offset: -1, Message: text}
}

// spool puts a body aside. Each part has the body timeout to arrive.
func (s *Server) spool(w http.ResponseWriter, r *http.Request, most int64) (_ *intake.Spool, err error) {
	file, err := intake.NewSpool()
	if err != nil {
		return nil, notSpooled(err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	control := http.NewResponseController(w)
	body, err := expanded(http.MaxBytesReader(w, r.Body, most), r.Header.Get("Content-Encoding"))
	if err != nil {
		return nil, brokenFile(err)
	}
	for written, part := int64(0), int64(0); ; written += part {
		_ = control.SetReadDeadline(time.Now().Add(s.config.BodyTimeout))
		part, err = io.CopyN(file, body, spoolPart)
		var over *http.MaxBytesError
		var unwritten *fs.PathError
		switch {
		case errors.As(err, &over) || written+part > most:
			forgoBody(w)
			return nil, tooLong(most)
		case err == io.EOF:
			_ = control.SetReadDeadline(time.Time{})
			w.Header().Del("Connection")
			return file.Rewound()
		case errors.As(err, &unwritten):
			forgoBody(w)
			return nil, notSpooled(err)
		case err != nil:
			forgoBody(w)
			return nil, brokenFile(err)
		}
	}
}

// expanded reads a body that may be compressed.
func expanded(body io.Reader, coding string) (io.Reader, error) {
	if strings.EqualFold(coding, "gzip") {
		return gzip.NewReader(body)
	}
	return body, nil
}

// spoolPart is how much of a file is read at once.
const spoolPart = 1 << 20

func brokenFile(cause error) error {
	if errors.Is(cause, os.ErrDeadlineExceeded) {
		return &refusal{http.StatusRequestTimeout, &enrich.Error{Kind: enrich.OutOfTime, Reason: "body_timeout", Offset: -1, Message: "the file did not go on arriving: send it again"}}
	}
	return &enrich.Error{Kind: enrich.Invalid, Field: "body", Reason: "broken_body", Offset: -1, Message: "the file breaks off: send it again"}
}

func writeImport(i ledger.Import) *enrichv1.Import {
	return &enrichv1.Import{Id: i.ID, Account: i.Account, Accepted: i.Accepted, Repeated: i.Repeated, Refused: i.Refused, CreateTime: timeOf(i.CreatedAt), FinishTime: timeOf(i.FinishedAt)}
}

// ownImport returns an import that the caller may see.
func (l *Leads) ownImport(ctx context.Context, call *call, id string) (ledger.Import, error) {
	imported, err := l.Store.Import(ctx, id)
	if err == nil && imported.Account != call.caller.Account.Name && !call.caller.Admin {
		err = ledger.ErrUnknown
	}
	return imported, err
}

// GetImport returns one import.
func (l *leadService) GetImport(ctx context.Context, message *enrichv1.GetImportRequest) (*enrichv1.Import, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.Import, error) {
		imported, err := leads.ownImport(ctx, callOf(ctx), message.GetId())
		return writeImport(imported), err
	})
}

// ListImportRows lists what became of the rows of an import.
func (l *leadService) ListImportRows(ctx context.Context, message *enrichv1.ListImportRowsRequest) (*enrichv1.ListImportRowsResponse, error) {
	return withLeads(ctx, l.server, message, func(leads *Leads) (*enrichv1.ListImportRowsResponse, error) {
		if _, err := leads.ownImport(ctx, callOf(ctx), message.GetId()); err != nil {
			return nil, err
		}
		rows, err := leads.Store.ImportRows(ctx, message.GetId(), message.GetAfterLine(), pageSize(message.GetPageSize()))
		response := &enrichv1.ListImportRowsResponse{}
		for _, row := range rows {
			response.Rows = append(response.Rows, &enrichv1.ImportRow{Line: row.Line, Status: row.Status, Reason: row.Reason, Lead: row.Lead})
		}
		return response, err
	})
}
