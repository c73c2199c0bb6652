package server

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

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

// conversation is one stream under way. Questions wait in three places, all
// bounded, so that a caller who sends faster than answers come is held back:
//
//	Recv ─▶ heard ─▶ room (of this stream) ─▶ rate ─▶ asking (of all) ─▶ answer ─▶ Send
//
// A caller who does not read its answers keeps its room, and nothing else. A
// stream may outlive the key that opened it and the rights of its account, so
// who asks is told anew for each question.
type conversation struct {
	server *Server
	call   *call
	shown  credential
	stream exchange
	// asked has the next question for somebody who has answered one.
	asked chan question
	// room holds a token for each question until its answer has been sent.
	room      chan struct{}
	answering sync.WaitGroup
	heard     chan heard

	sending sync.Mutex
	failed  error // of the first Send that failed
	cancel  context.CancelFunc
}

// heardAhead is how many questions are received before the first of them is looked
// at: to go to and fro between two goroutines for each is a twentieth of a memory
// hit.
const heardAhead = 16

// askAgain is how soon a question that waits for its account's rate looks whether
// the account, or its rate, is still the same.
const askAgain = time.Second

// shortID is a length of correlation ids about which the contract has no rule, nor
// has it another for the questions of streams: to check them all is a tenth of a
// memory hit. The request in a question is checked by itself.
const shortID = 64

// heard is what Recv returned.
type heard struct {
	question *enrichv1.StreamEnrichRequest
	err      error
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
func (s *Server) converse(ctx context.Context, call *call, shown credential, stream exchange) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conversation{
		server: s, call: call, shown: shown, stream: stream, cancel: cancel,
		asked: make(chan question), room: make(chan struct{}, s.config.StreamWidth), heard: make(chan heard, heardAhead),
	}
	go c.listen(ctx)
	err := c.answerAll(ctx)
	close(c.asked)
	c.answering.Wait()
	if c.failed != nil {
		return c.failed
	}
	return err
}

// listen receives until the stream ends.
func (c *conversation) listen(ctx context.Context) {
	for {
		question, err := c.stream.Recv()
		select {
		case c.heard <- heard{question, err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !goesOn(err) {
			return
		}
	}
}

// answerAll begins to answer each question that is heard.
func (c *conversation) answerAll(ctx context.Context) (err error) {
	for number := 0; ; number++ {
		var next heard
		select {
		case next = <-c.heard:
		case <-c.server.draining.Done():
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case next.err == io.EOF:
			return nil
		case next.err != nil && !goesOn(next.err):
			return next.err
		}
		question := question{heard: next, number: number}
		if question.caller, err = c.wait(ctx, number); err != nil {
			return err
		}
		select {
		case c.asked <- question:
		default: // everybody is busy, and there are fewer than there is room for
			first := question // which alone moves to the heap
			c.answering.Go(func() { c.answerEach(ctx, first) })
		}
	}
}

// question is one of a stream, and who asks it.
type question struct {
	heard
	caller Caller
	number int
}

// answerEach answers a question, and others after it until the stream ends. To
// grow the stack of a new goroutine for each is a seventh of a memory hit.
func (c *conversation) answerEach(ctx context.Context, next question) {
	asked := *c.call
	for more := true; more; next, more = <-c.asked {
		asked.caller = next.caller
		result := c.answer(ctx, &asked, next.heard, next.number)
		<-c.server.asking
		c.send(next.question.GetCorrelationId(), result)
		<-c.room
	}
}

// wait holds a question back until there is room for it in its stream, its
// account's rate and the service, and tells who asks it. The gate has counted the
// first.
func (c *conversation) wait(ctx context.Context, number int) (caller Caller, err error) {
	select {
	case c.room <- struct{}{}:
	case <-ctx.Done():
		return Caller{}, ctx.Err()
	}
	for {
		if caller, err = c.server.authenticate(c.shown); err != nil {
			return Caller{}, err
		}
		if number == 0 {
			break
		}
		standing := c.server.rates.take(&caller)
		if standing.wait == 0 {
			break
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
	select {
	case c.server.asking <- struct{}{}:
		return caller, nil
	case <-ctx.Done():
		return Caller{}, ctx.Err()
	}
}

func (c *conversation) answer(ctx context.Context, asked *call, next heard, number int) *enrichv1.EnrichResult {
	s, began := c.server, time.Now()
	err, question := next.err, next.question.GetRequest()
	if err == nil && len(next.question.GetCorrelationId()) > shortID {
		err = s.checkRules(next.question)
	}
	var request enrich.Request
	if err == nil {
		if question == nil {
			question = &enrichv1.EnrichRequest{}
		}
		request, err = s.readItem(question, nil, asked)
	}
	if err != nil {
		return s.failItem(ctx, asked, err, began)
	}
	request.ID = asked.id + "/" + strconv.Itoa(number)
	return s.answerItem(ctx, asked, question, request)
}

// send sends an answer; the first one that cannot be sent ends the stream.
func (c *conversation) send(correlationID string, result *enrichv1.EnrichResult) {
	message := &enrichv1.StreamEnrichResponse{CorrelationId: correlationID}
	if response := result.GetResponse(); response != nil {
		message.Result = &enrichv1.StreamEnrichResponse_Response{Response: response}
	} else {
		message.Result = &enrichv1.StreamEnrichResponse_Error{Error: result.GetError()}
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.failed == nil {
		if c.failed = c.stream.Send(message); c.failed != nil {
			c.cancel()
		}
	}
}
