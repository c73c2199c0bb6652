package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// streamREST is StreamEnrich over HTTP: one JSON message a line, both ways at
// once. When the stream itself fails, the last line is an error without a
// correlation id.
func (s *Server) streamREST(w http.ResponseWriter, r *http.Request, call *call) {
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // HTTP/1 needs it, HTTP/2 has it
	w.Header().Set("Content-Type", ndjson)
	w.WriteHeader(http.StatusOK)
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // of the header

	stream := &lines{reader: bufio.NewReader(r.Body), longest: s.config.MaxMessageBytes, writer: w, control: control, patience: s.config.BodyTimeout}
	// net/http takes a caller who is silent for too long for gone. What such a
	// one has asked is still answered.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(r.Context(), func() {
		if !stream.timedOut() {
			cancel()
		}
	})()
	err := s.converse(ctx, call, credentialOfREST(r), stream)
	stream.end()
	if err == nil {
		return
	}
	problem := status.Convert(s.streamProblem(ctx, err))
	call.code = problem.Code()
	_ = stream.Send(&enrichv1.StreamEnrichResponse{Result: &enrichv1.StreamEnrichResponse_Error{Error: problem.Proto()}})
}

// streamProblem is what a stream of lines ends with.
func (s *Server) streamProblem(ctx context.Context, err error) error {
	var own *refusal
	if errors.As(err, &own) {
		return describe(ctx, grpcCodes[own.problem.Kind], own.problem).Err()
	}
	return s.statusOf(ctx, err)
}

// lines is an exchange of newline-delimited JSON.
type lines struct {
	reader  *bufio.Reader
	longest int
	line    []byte

	receiving sync.Mutex
	ended     bool // there is nothing more to read
	over      atomic.Bool
	until     atomic.Int64 // Unix nanoseconds: when the next line must be there

	writer   http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	out      []byte
}

// Recv reads the next line that is not empty. The caller has the idle timeout to
// send it, from when it is read: questions may be held back for longer.
func (l *lines) Recv() (*enrichv1.StreamEnrichRequest, error) {
	l.receiving.Lock()
	defer l.receiving.Unlock()
	if l.over.Load() { // the handler may have returned, and nothing may be asked of what it had
		return nil, io.EOF
	}
	until := time.Now().Add(idleTimeout)
	l.until.Store(until.UnixNano())
	_ = l.control.SetReadDeadline(until)
	if l.over.Load() { // since then: end's deadline is lost
		return nil, io.EOF
	}
	for {
		err := l.readLine()
		text := bytes.TrimSpace(l.line)
		l.ended = err != nil
		if !l.ended || err == io.EOF {
			_ = l.control.SetReadDeadline(time.Time{})
			l.until.Store(math.MaxInt64)
		}
		switch {
		case err != nil && err != io.EOF:
			return nil, l.broken(err)
		case len(text) > 0:
			return readQuestion(text)
		case err == io.EOF:
			return nil, io.EOF
		}
	}
}

// timedOut tells whether no line came in time.
func (l *lines) timedOut() bool { return time.Now().UnixNano() >= l.until.Load() }

// end lets nothing be read any more, and returns when nothing is: a body must not
// be read once its handler has returned.
func (l *lines) end() {
	l.over.Store(true)
	// Behind the end of a body net/http itself reads: at a deadline it takes the
	// caller for gone, and cancels all further requests of the connection.
	if !l.receiving.TryLock() {
		_ = l.control.SetReadDeadline(time.Now())
		l.receiving.Lock()
	}
	defer l.receiving.Unlock()
	if !l.ended { // net/http reads some more, so that the caller can read what it was told
		_ = l.control.SetReadDeadline(time.Now().Add(idleTimeout))
	}
}

// readLine reads up to the end of the line or of the body.
func (l *lines) readLine() error {
	l.line = l.line[:0]
	for {
		part, err := l.reader.ReadSlice('\n')
		l.line = append(l.line, part...)
		if len(l.line) > l.longest {
			return errExpands
		}
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// broken is why no further line can be read.
func (l *lines) broken(err error) error {
	switch {
	case errors.Is(err, errExpands):
		return tooLong(int64(l.longest))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{http.StatusRequestTimeout, &enrich.Error{Kind: enrich.OutOfTime, Reason: "idle", Offset: -1, Message: "no further question came in time"}}
	default:
		return &refusal{http.StatusBadRequest, &enrich.Error{Kind: enrich.Invalid, Field: "body", Reason: "broken_body", Offset: -1, Message: "the body breaks off or is not framed as declared"}}
	}
}

// readQuestion reads one line's message.
func readQuestion(text []byte) (*enrichv1.StreamEnrichRequest, error) {
	question := &enrichv1.StreamEnrichRequest{}
	err := protojson.Unmarshal(camelMasks(text), question)
	if err != nil {
		return nil, explainBody(text, err, question.ProtoReflect().Descriptor())
	}
	return question, nil
}

// Send writes an answer's line.
func (l *lines) Send(answer *enrichv1.StreamEnrichResponse) error {
	out, err := protojson.MarshalOptions{}.MarshalAppend(l.out[:0], answer)
	if err != nil {
		return err
	}
	l.out = append(out, '\n')
	_ = l.control.SetWriteDeadline(time.Now().Add(l.patience))
	_, err = l.writer.Write(l.out)
	if err == nil {
		err = l.control.Flush()
	}
	// An expired deadline would end a stream that is only quiet.
	_ = l.control.SetWriteDeadline(time.Time{})
	return err
}
