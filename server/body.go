package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
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
		if len(body.text) == 0 && mayBeEmpty(typed) {
			return io.EOF // all that is needed may be in the path
		}
		err := m.UnmarshalOptions.Unmarshal(camelMasks(body.text), typed)
		if err != nil {
			body.problem = explainBody(body.text, err, typed.ProtoReflect().Descriptor())
		}
		return err
	})
}

// ndjson is a stream's media type: one JSON value a line.
const ndjson = "application/x-ndjson"

// mayBeEmpty tells whether a message is of a method whose paths may say all, as
// those of operators and of leads do.
func mayBeEmpty(message proto.Message) bool {
	return message.ProtoReflect().Descriptor().ParentFile() != enrichv1.File_enrich_v1_enrich_proto
}

// checkBodyForm refuses bodies of other types than JSON before they are read.
// What curl -d declares unasked is taken for JSON. A stream is not compressed: it
// would not come line by line.
func checkBodyForm(w http.ResponseWriter, r *http.Request, method *method) error {
	coding := strings.ToLower(r.Header.Get("Content-Encoding"))
	if coding != "" && coding != "identity" && (coding != "gzip" || method.stream) {
		accepted := "gzip, identity"
		if method.stream {
			accepted = "identity"
		}
		w.Header().Set("Accept-Encoding", accepted) // RFC 9110, section 12.5.3
		return &refusal{http.StatusUnsupportedMediaType, &enrich.Error{
			Kind: enrich.Invalid, Reason: "content_encoding", Offset: -1, Message: "the body's Content-Encoding is not accepted here: " + accepted + " is",
		}}
	}
	if method.file {
		return nil
	}
	declared := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(declared)
	if declared == "" || err == nil && (kind == "application/json" || kind == "application/x-www-form-urlencoded" || method.stream && kind == ndjson) {
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
	text, err := readAll(http.MaxBytesReader(w, r.Body, longest), r.Header.Get("Content-Encoding"), longest)
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
	case errors.As(err, &over), errors.Is(err, errExpands):
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

// errExpands is a compressed body that becomes longer than a body may be.
var errExpands = errors.New("expands too far")

// readAll reads a body, compressed or not. However far it expands, no more than
// the longest body is ever kept.
func readAll(body io.Reader, coding string, longest int64) ([]byte, error) {
	if !strings.EqualFold(coding, "gzip") {
		return io.ReadAll(body)
	}
	expanding, err := gzip.NewReader(body)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(expanding, longest+1))
	if int64(len(text)) > longest {
		return nil, errExpands
	}
	return text, err
}

func tooLong(longest int64) error {
	return &refusal{http.StatusRequestEntityTooLarge, &enrich.Error{
		Kind: enrich.Invalid, Field: "body", Reason: "too_long", Offset: -1, Message: fmt.Sprintf("the body is longer than %d bytes", longest),
	}}
}
