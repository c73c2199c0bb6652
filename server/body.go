package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
)

// restBody is the whole body of a REST request, and what is wrong with it. The
// gateway keeps only the text of a decoder's error; the error handler finds the
// rest here.
type restBody struct {
	*bytes.Reader
	text    []byte
	problem error
}

// Close has nothing to close.
func (*restBody) Close() error { return nil }

// wholeBody decodes a body that holds one JSON value and nothing behind it.
type wholeBody struct{ runtime.JSONPb }

// NewDecoder decodes all that the reader has.
func (m *wholeBody) NewDecoder(reader io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(message any) error {
		body, whole := reader.(*restBody)
		typed, ok := message.(proto.Message)
		if !whole || !ok {
			return errors.New("only whole bodies are decoded, into messages")
		}
		err := m.UnmarshalOptions.Unmarshal(body.text, typed)
		if err != nil {
			body.problem = explainBody(body.text, err, typed.ProtoReflect().Descriptor())
		}
		return err
	})
}

// checkBodyForm refuses bodies of other types than JSON before they are read.
// What curl -d declares unasked is taken for JSON; a compressed body is not
// accepted, so that a small one cannot become a large one.
func checkBodyForm(w http.ResponseWriter, r *http.Request) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		w.Header().Set("Accept-Encoding", "identity") // RFC 9110, section 12.5.3
		return &refusal{http.StatusUnsupportedMediaType, &enrich.Error{
			Kind: enrich.Invalid, Reason: "content_encoding", Offset: -1, Message: "compressed bodies are not accepted: send it without Content-Encoding",
		}}
	}
	declared := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(declared)
	if declared == "" || err == nil && (kind == "application/json" || kind == "application/x-www-form-urlencoded") {
		return nil
	}
	return &refusal{http.StatusUnsupportedMediaType, &enrich.Error{
		Kind: enrich.Invalid, Reason: "content_type", Offset: -1, Message: "the body must be JSON, with Content-Type: application/json",
	}}
}

// lingerTimeout is how long the rest of a body that is not wanted may take, so
// that a caller who is still sending it gets to read the answer.
const lingerTimeout = time.Second

// forgoBody ends the connection after the answer. net/http takes in some of a
// body that nobody reads, without limit of time and in a drain too: here it has
// the linger timeout.
func forgoBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout))
}

// readBody reads the whole body before anything is decoded: up to the longest
// message, within the body timeout, and not into a drain.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (*restBody, error) {
	longest := int64(s.config.MaxMessageBytes)
	if r.ContentLength > longest {
		return nil, tooLong(longest)
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(s.config.BodyTimeout))
	cut := make(chan struct{})
	finish := context.AfterFunc(s.draining, func() {
		defer close(cut)
		_ = connection.SetReadDeadline(time.Now())
	})
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longest))
	if err != nil {
		defer forgoBody(w)
	}
	if !finish() {
		<-cut
		return nil, &enrich.Error{
			Kind: enrich.Unavailable, Reason: "stopping", Offset: -1, ReadyAt: time.Now().Add(overloadDelay),
			Message: "the service is stopping: send the request again",
		}
	}
	var over *http.MaxBytesError
	switch {
	case err == nil:
		w.Header().Del("Connection")
		// Past the deadline net/http would take the caller for gone.
		_ = connection.SetReadDeadline(time.Time{})
		return &restBody{Reader: bytes.NewReader(text), text: text}, nil
	case errors.As(err, &over):
		return nil, tooLong(longest)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &refusal{http.StatusRequestTimeout, &enrich.Error{
			Kind: enrich.OutOfTime, Reason: "body_timeout", Offset: -1, Message: fmt.Sprintf("the body did not arrive within %s", s.config.BodyTimeout),
		}}
	default:
		return nil, &enrich.Error{
			Kind: enrich.Invalid, Field: "body", Reason: "broken_body", Offset: len(text),
			Message: fmt.Sprintf("the body breaks off or is not framed as declared, after %d bytes", len(text)),
		}
	}
}

func tooLong(longest int64) error {
	return &refusal{http.StatusRequestEntityTooLarge, &enrich.Error{
		Kind: enrich.Invalid, Field: "body", Reason: "too_long", Offset: -1, Message: fmt.Sprintf("the body is longer than %d bytes", longest),
	}}
}
