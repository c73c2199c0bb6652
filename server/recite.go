package server

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// notRendered is the form of answers that are made anew each time.
const notRendered enrich.RenderedForm = 0

// Reciter answers from what was sent before; *enrich.Service is one.
type Reciter interface {
	Recite(ctx context.Context, request enrich.Request, form enrich.RenderedForm) enrich.Recital
	// MayTell tells whether an answer that was kept under an idempotency key may
	// be given again, by the address and the domain that it tells of, "" for none.
	MayTell(address, domain string) bool
}

// noReciter has nothing.
type noReciter struct{}

func (noReciter) Recite(context.Context, enrich.Request, enrich.RenderedForm) enrich.Recital {
	return enrich.Recital{}
}

func (noReciter) MayTell(_, _ string) bool { return true }

// recite answers a question as before, if all is as it was; without an answer,
// keep is to be told the one that is made.
func (s *Server) recite(ctx context.Context, call *call, request enrich.Request) (response *enrichv1.EnrichResponse, recital enrich.Recital) {
	if call.form == notRendered {
		return nil, recital
	}
	recital = s.parts.Reciter.Recite(ctx, request, call.form)
	if recital.Sent == nil {
		return nil, recital
	}
	response = &enrichv1.EnrichResponse{}
	if call.form == enrich.RenderedProto {
		// Unknown fields are sent as they are: a third of the cost of making the
		// message and encoding it.
		response.ProtoReflect().SetUnknown(recital.Sent)
	} else {
		call.recited = recital.Sent
	}
	return response, recital
}

// write translates an answer into the message that is sent, and keeps it in the
// form in which that is.
func (s *Server) write(ctx context.Context, call *call, answer *enrich.Answer, recital *enrich.Recital) *enrichv1.EnrichResponse {
	if call.form == enrich.RenderedProto {
		response := wireAnswer(answer)
		if recital.Keeps(answer) {
			recital.Keep(ctx, answer, response.ProtoReflect().GetUnknown())
		}
		return response
	}
	response := writeAnswer(*answer)
	if recital.Keeps(answer) {
		s.keepJSON(ctx, call, recital, answer, response)
	}
	return response
}

func (s *Server) keepJSON(ctx context.Context, call *call, recital *enrich.Recital, answer *enrich.Answer, response *enrichv1.EnrichResponse) {
	sent, err := protojson.Marshal(response)
	if err != nil {
		return
	}
	if call.form == enrich.RenderedZipped && len(sent) >= worthZipping {
		sent = zippedBytes(sent)
	}
	recital.Keep(ctx, answer, sent)
}

// enrichREST answers Enrich. The gateway would do the same, but its way through
// contexts, routes and marshalers costs half as much again as a bare request.
func (s *Server) enrichREST(w http.ResponseWriter, r *http.Request, call *call, body *restBody) {
	r.Body = body // for what is wrong with it
	zipped := zip(w, r)
	call.form = enrich.RenderedJSON
	if zipped.accepted {
		call.form = enrich.RenderedZipped
	}
	if text, err := s.enrichJSON(r.Context(), call, body); err != nil {
		s.writeGatewayError(r.Context(), nil, nil, zipped, r, err)
	} else {
		zipped.Header().Set("Content-Type", "application/json")
		_, _ = zipped.Write(text)
	}
	zipped.close()
}

// enrichJSON is the answer to a body as JSON, which may be compressed already.
func (s *Server) enrichJSON(ctx context.Context, call *call, body *restBody) ([]byte, error) {
	message := &enrichv1.EnrichRequest{}
	if err := bodies.NewDecoder(body).Decode(message); err != nil {
		return nil, err
	}
	response, err := (&enrichService{server: s}).Enrich(ctx, message)
	if err != nil || call.recited != nil {
		return call.recited, err
	}
	return protojson.Marshal(response)
}
