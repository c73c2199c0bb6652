package server

import (
	"context"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Reciter answers from what was sent before; *enrich.Service is one.
type Reciter interface {
	Recite(ctx context.Context, request *enrich.Request, form enrich.RenderedForm) enrich.Recital
	// MayTell tells whether an answer that was kept under an idempotency key may
	// be given again, by the address and the domain that it tells of, "" for none.
	MayTell(address, domain string) bool
}

// noReciter has nothing.
type noReciter struct{}

func (noReciter) Recite(context.Context, *enrich.Request, enrich.RenderedForm) enrich.Recital {
	return enrich.Recital{}
}

func (noReciter) MayTell(_, _ string) bool { return true }

// notRendered is the form of answers that are made anew each time.
const notRendered enrich.RenderedForm = 0

// form is how the answers of a call are rendered: as they are sent. An answer
// among several in one JSON text is not.
func (c *call) form() enrich.RenderedForm {
	switch {
	case !c.rest:
		return enrich.RenderedProto
	case c.method.name == "Enrich":
		return enrich.RenderedJSON
	default:
		return notRendered
	}
}

// recite answers a question as before, if all is as it was; without an answer,
// keep is to be told the one that is made.
func (s *Server) recite(ctx context.Context, call *call, request *enrich.Request) (response *enrichv1.EnrichResponse, recital enrich.Recital) {
	form := call.form()
	if form == notRendered {
		return nil, recital
	}
	recital = s.parts.Reciter.Recite(ctx, request, form)
	switch {
	case recital.Sent == nil:
		return nil, recital
	case form == enrich.RenderedJSON:
		call.recited = withKey(recital.Sent, recital.IdempotencyKey)
		return &enrichv1.EnrichResponse{}, recital
	}
	response = &enrichv1.EnrichResponse{IdempotencyKey: recital.IdempotencyKey}
	// On the wire the fields of both stand beside each other, as in one message:
	// a third of the cost of making the message and encoding it.
	response.ProtoReflect().SetUnknown(recital.Sent)
	return response, recital
}

// keep keeps an answer as it is sent, but for its idempotency key.
func (s *Server) keep(ctx context.Context, call *call, recital *enrich.Recital, answer *enrich.Answer, response *enrichv1.EnrichResponse) {
	if !recital.Keeps(answer) {
		return
	}
	key := response.IdempotencyKey
	response.IdempotencyKey = ""
	var sent []byte
	var err error
	if call.form() == enrich.RenderedJSON {
		sent, err = protojson.Marshal(response)
	} else {
		sent, err = proto.Marshal(response)
	}
	response.IdempotencyKey = key
	if err == nil {
		recital.Keep(ctx, answer, sent)
	}
}

// withKey puts an idempotency key, which is printable ASCII, into a JSON object
// that has other members.
func withKey(object []byte, key string) []byte {
	text := make([]byte, 0, len(object)+len(key)+32)
	text = append(text, `{"idempotencyKey":`...)
	text = strconv.AppendQuote(text, key)
	text = append(text, ',')
	return append(text, object[1:]...)
}

// recitedJSON is an answer that is JSON already.
type recitedJSON []byte

// rewriteRecited has the gateway send what was recited.
func rewriteRecited(ctx context.Context, response proto.Message) (any, error) {
	if call := callOf(ctx); call.recited != nil {
		return recitedJSON(call.recited), nil
	}
	return response, nil
}

// Marshal encodes an answer, unless it is encoded already.
func (m *wholeBody) Marshal(answer any) ([]byte, error) {
	if recited, ok := answer.(recitedJSON); ok {
		return recited, nil
	}
	return m.JSONPb.Marshal(answer)
}
