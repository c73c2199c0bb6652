package server

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// StreamEnrich answers requests as they come.
func (e *enrichService) StreamEnrich(stream grpc.BidiStreamingServer[enrichv1.StreamEnrichRequest, enrichv1.StreamEnrichResponse]) error {
	ctx := stream.Context()
	call := callOf(ctx)
	err := e.server.converse(ctx, call, e.server.credentialOfGRPC(ctx, call), stream)
	var typed *enrich.Error
	if errors.As(err, &typed) || err != nil && ctx.Err() != nil {
		return e.server.statusOf(ctx, err)
	}
	return err // gRPC's own, about a message that it could not take
}

// exchange is a stream of questions and answers, on either path. Recv and Send
// may be called side by side, each by one goroutine at a time.
type exchange interface {
	// Recv returns the next question, or io.EOF after the last. A question that
	// cannot be read is an [enrich.Error], and the stream goes on; every other
	// error ends it.
	Recv() (*enrichv1.StreamEnrichRequest, error)
	Send(*enrichv1.StreamEnrichResponse) error
}

// conversation is one stream under way. The next question is received when the one
// before has passed all places where it may wait, so that a caller who sends faster
// than answers come is held back:
//
//	Recv ─▶ room (of this stream) ─▶ rate ─▶ asking (of all) ─▶ answer ─▶ Send
//
// One goroutine at a time has the turn to listen. It answers itself what it hears,
// and listens again; only when an answer is to wait does it pass the turn on
// before. To hand every question to another goroutine, and that to a third, was
// two fifths of a memory hit.
//
// A caller who does not read its answers keeps its room, and nothing else. A
// stream may outlive the key that opened it and the rights of its account, so
// who asks is told anew for each question.
type conversation struct {
	server *Server
	call   call // as it was at the beginning: the stream's own goes on
	shown  credential
	stream exchange
	// heard counts the questions. It belongs to whoever listens.
	heard int
	// room holds a token for each question until its answer has been sent.
	room chan struct{}
	// turn has a token for one of the goroutines that are idle.
	turn  chan struct{}
	idle  atomic.Int32
	ended chan error // why nobody listens any more

	sending sync.Mutex
	failed  error // of the first Send that failed
	cancel  context.CancelFunc
}

// askAgain is how soon a question that waits for its account's rate looks whether
// the account, or its rate, is still the same.
const askAgain = time.Second

// shortID is a length of correlation ids about which the contract has no rule, nor
// has it another for the questions of streams: to check them all is a tenth of a
// memory hit. The request in a question is checked by itself.
const shortID = 64

// question is one of a stream.
type question struct {
	message *enrichv1.StreamEnrichRequest
	err     error // why it cannot be read
	number  int
	caller  Caller // who asks it
}

// goesOn tells whether a stream goes on after an error of Recv.
func goesOn(err error) bool {
	_, one := err.(*enrich.Error)
	return one
}

// errStopping ends streams in a drain.
var errStopping = &enrich.Error{Kind: enrich.Unavailable, Reason: "stopping", Offset: -1, Message: "the service is stopping: send what was not answered again"}

// converse answers the questions of a stream until the caller has sent the last
// one, leaves, or the service stops. It returns when all that were taken have
// been answered.
func (s *Server) converse(ctx context.Context, call *call, shown credential, stream exchange) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conversation{
		server: s, call: *call, shown: shown, stream: stream, cancel: cancel,
		room: make(chan struct{}, s.config.StreamWidth), turn: make(chan struct{}, 1), ended: make(chan error, 1),
	}
	go c.listen(ctx)
	select {
	case err = <-c.ended:
	case <-s.draining.Done():
		err = errStopping
	case <-ctx.Done():
		err = ctx.Err()
	}
	for range cap(c.room) { // who has all of it knows that nothing is answered any more
		c.room <- struct{}{}
	}
	if c.failed != nil {
		return c.failed
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// listen receives and answers questions, whenever it has the turn, until the
// stream ends.
func (c *conversation) listen(ctx context.Context) {
	asked, passed := c.call, false
	asked.waits = func() {
		if !passed {
			passed = true
			c.passTurn(ctx)
		}
	}
	for {
		question, err := c.hear(ctx)
		if err != nil {
			c.ended <- err
			return
		}
		asked.caller = question.caller
		answer := c.answer(ctx, &asked, &question)
		<-c.server.asking
		c.send(ctx, answer)
		if !passed {
			<-c.room
			continue
		}
		c.idle.Add(1) // before there is room for another question, or goroutines become too many
		<-c.room
		select {
		case <-c.turn:
			passed = false
		case <-ctx.Done():
			return
		}
	}
}

// passTurn lets another goroutine listen, an idle one or a new one; there is never
// more than one beyond the stream's room. It belongs to whoever has the turn. To
// grow the stack of a new one for each question costs 2 µs.
func (c *conversation) passTurn(ctx context.Context) {
	if c.idle.Load() == 0 {
		go c.listen(ctx)
		return
	}
	c.idle.Add(-1)
	c.turn <- struct{}{}
}

// hear receives the next question, and holds it back until there is room for it in
// its stream, its account's rate and the service. The error ends the stream:
// io.EOF after the last question.
func (c *conversation) hear(ctx context.Context) (next question, err error) {
	defer c.catch(ctx, &err)
	next.message, next.err = c.stream.Recv()
	if next.err != nil && !goesOn(next.err) {
		return next, next.err
	}
	next.number = c.heard
	c.heard++
	if err = c.take(ctx, c.room); err != nil {
		return next, err
	}
	if next.caller, err = c.admit(ctx, next.number); err == nil {
		err = c.take(ctx, c.server.asking)
	}
	if err != nil {
		<-c.room
	}
	return next, err
}

// take puts a token where there may have to be room for it first.
func (c *conversation) take(ctx context.Context, tokens chan<- struct{}) error {
	select {
	case tokens <- struct{}{}:
		return nil
	default:
	}
	select {
	case tokens <- struct{}{}:
		return nil
	case <-c.server.draining.Done():
		return errStopping
	case <-ctx.Done():
		return ctx.Err()
	}
}

// admit tells who asks a question, when the account's rate lets it in. The gate has
// counted the first.
func (c *conversation) admit(ctx context.Context, number int) (caller Caller, err error) {
	defer c.catch(ctx, &err)
	for {
		caller, err = c.server.authenticate(c.shown)
		if err != nil || number == 0 {
			return caller, err
		}
		standing := c.server.rates.take(&caller)
		if standing.wait == 0 {
			return caller, nil
		}
		timer := time.NewTimer(min(standing.wait, askAgain))
		select {
		case <-timer.C:
		case <-c.server.draining.Done():
			timer.Stop()
			return Caller{}, errStopping
		case <-ctx.Done():
			timer.Stop()
			return Caller{}, ctx.Err()
		}
	}
}

// answer is what a question is answered with, be it an error.
func (c *conversation) answer(ctx context.Context, asked *call, next *question) *enrichv1.StreamEnrichResponse {
	answer := &enrichv1.StreamEnrichResponse{CorrelationId: next.message.GetCorrelationId()}
	if response, problem := c.work(ctx, asked, next); problem != nil {
		answer.Result = &enrichv1.StreamEnrichResponse_Error{Error: problem}
	} else {
		answer.Result = &enrichv1.StreamEnrichResponse_Response{Response: response}
	}
	return answer
}

// work reads a question and answers it. A panic fails this one alone.
func (c *conversation) work(ctx context.Context, asked *call, next *question) (response *enrichv1.EnrichResponse, problem *spb.Status) {
	s, began := c.server, time.Now()
	defer func() {
		if recover() != nil {
			response, problem = nil, status.Convert(s.panicked(ctx)).Proto()
		}
	}()
	err, message := next.err, next.message.GetRequest()
	if err == nil && len(next.message.GetCorrelationId()) > shortID {
		err = s.checkRules(next.message)
	}
	var request enrich.Request
	if err == nil {
		if message == nil {
			message = &enrichv1.EnrichRequest{}
		}
		request, err = s.readItem(message, nil, asked)
	}
	if err != nil {
		return nil, s.failItem(ctx, asked, err, began)
	}
	request.ID = asked.id + "/" + strconv.Itoa(next.number)
	return s.answerItem(ctx, asked, message, request, began)
}

// send sends an answer; the first one that cannot be sent ends the stream.
func (c *conversation) send(ctx context.Context, answer *enrichv1.StreamEnrichResponse) {
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.failed == nil {
		if c.failed = c.trySend(ctx, answer); c.failed != nil {
			c.cancel()
		}
	}
}

func (c *conversation) trySend(ctx context.Context, answer *enrichv1.StreamEnrichResponse) (err error) {
	defer c.catch(ctx, &err)
	return c.stream.Send(answer)
}

// catch makes a panic the error that ends the stream. Its goroutines have nobody
// else who would: without it, it would end the program.
func (c *conversation) catch(ctx context.Context, err *error) {
	if recover() != nil {
		*err = c.server.panicked(ctx)
	}
}
