package server

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// BatchEnrich answers many requests, each as Enrich would.
func (e *enrichService) BatchEnrich(ctx context.Context, message *enrichv1.BatchEnrichRequest) (*enrichv1.BatchEnrichResponse, error) {
	s, call := e.server, callOf(ctx)
	err := takeKey(call, &message.IdempotencyKey)
	if err == nil {
		err = s.checkRules(message)
	}
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	if more := len(message.GetRequests()) - 1; more > 0 {
		call.rate = s.rates.charge(&call.caller, int64(more))
	}
	if message.GetIdempotencyKey() == "" {
		response, _ := s.answerBatch(ctx, call, message)
		return response, nil
	}
	response, err := s.answerBatchOnce(ctx, call, message)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return response, nil
}

// batch is one BatchEnrich under way. It belongs to one goroutine.
type batch struct {
	server   *Server
	call     *call
	ctx      context.Context
	began    time.Time
	results  []*enrichv1.EnrichResult
	subjects []email.Key
}

// answerBatch answers all requests of a batch and names the subjects that the
// answers tell of. In a batch without a key, requests with one are answered one
// by one, beside the others, as many at once as a stream's.
func (s *Server) answerBatch(ctx context.Context, call *call, message *enrichv1.BatchEnrichRequest) (*enrichv1.BatchEnrichResponse, []email.Key) {
	b := &batch{server: s, call: call, ctx: ctx, began: time.Now(), results: make([]*enrichv1.EnrichResult, len(message.GetRequests()))}
	requests := make([]enrich.Request, 0, len(b.results))
	places := make([]int, 0, len(b.results))
	recitals := make([]enrich.Recital, 0, len(b.results))
	var response *enrichv1.EnrichResponse
	type keyed struct {
		place   int
		request enrich.Request
	}
	var once []keyed
	for i, item := range message.GetRequests() {
		request, err := s.readItem(item, message, call)
		request.ID = call.id + "/" + strconv.Itoa(i)
		switch {
		case err != nil:
			b.fail(i, err)
		case item.GetIdempotencyKey() != "" && message.GetIdempotencyKey() == "":
			once = append(once, keyed{i, request})
		default:
			var recital enrich.Recital
			if message.GetIdempotencyKey() == "" { // else the subjects must be known
				if response, recital = s.recite(ctx, call, request); response != nil {
					b.recited(i, response)
					continue
				}
			}
			requests, places, recitals = append(requests, request), append(places, i), append(recitals, recital)
		}
	}
	var asking errgroup.Group
	asking.SetLimit(s.config.StreamWidth + 1)
	asking.Go(func() error {
		for _, each := range once {
			asking.Go(func() error {
				b.results[each.place] = resultOf(s.answerItem(ctx, call, message.GetRequests()[each.place], each.request, time.Now()))
				return nil
			})
		}
		return nil
	})
	if len(requests) > 0 {
		s.parts.Enricher.EnrichAll(ctx, requests, func(i int, answer enrich.Answer, err error) {
			if err != nil {
				b.fail(places[i], err)
				return
			}
			b.found(places[i], &answer, &recitals[i])
		})
	}
	_ = asking.Wait()
	return &enrichv1.BatchEnrichResponse{Results: b.results}, b.subjects
}

// readItem reads one request of a stream, or of a batch, which names what its
// requests do not.
func (s *Server) readItem(item *enrichv1.EnrichRequest, message *enrichv1.BatchEnrichRequest, call *call) (enrich.Request, error) {
	request, err := s.readRequest(item, call.caller.Account)
	if item.GetLane() == enrichv1.Lane_LANE_UNSPECIFIED {
		request.Lane = enrich.Standard
		if message.GetLane() != enrichv1.Lane_LANE_UNSPECIFIED {
			request.Lane = lanes[message.GetLane()]
		}
	}
	if item.GetBudget() == nil {
		request.Budget = message.GetBudget().AsDuration()
	}
	if request.Purpose == "" {
		request.Purpose = message.GetPurpose()
	}
	if err == nil {
		err = s.load.shed(request.Lane)
	}
	return request, err
}

// recited notes an answer that was rendered before.
func (b *batch) recited(place int, response *enrichv1.EnrichResponse) {
	b.results[place] = resultOf(response, nil)
	source := string(enrich.MemoryTier)
	b.call.source = slower(b.call.source, source)
	b.server.leaveItem(b.call, codes.OK, source, b.began)
}

func (b *batch) found(place int, answer *enrich.Answer, recital *enrich.Recital) {
	response := b.server.write(b.ctx, b.call, answer, recital)
	b.results[place] = resultOf(response, nil)
	b.subjects = subjectsOf(b.subjects, answer)
	source := sourceOf(answer)
	b.call.source = slower(b.call.source, source)
	b.server.leaveItem(b.call, codes.OK, source, b.began)
}

func (b *batch) fail(place int, err error) {
	b.results[place] = resultOf(nil, b.server.failItem(b.ctx, b.call, err, b.began))
}

// resultOf is what a batch says of one request: its answer, or what is wrong.
func resultOf(response *enrichv1.EnrichResponse, problem *spb.Status) *enrichv1.EnrichResult {
	if problem != nil {
		return &enrichv1.EnrichResult{Result: &enrichv1.EnrichResult_Error{Error: problem}}
	}
	return &enrichv1.EnrichResult{Result: &enrichv1.EnrichResult_Response{Response: response}}
}

// failItem is what is wrong with one of several requests.
func (s *Server) failItem(ctx context.Context, call *call, err error, began time.Time) *spb.Status {
	problem := status.Convert(s.statusOf(ctx, err))
	s.leaveItem(call, problem.Code(), sourceNone, began)
	return problem.Proto()
}

// answerItem answers one request of a batch or stream by itself: it returns the
// answer, or what is wrong.
func (s *Server) answerItem(ctx context.Context, call *call, message *enrichv1.EnrichRequest, request enrich.Request, began time.Time) (*enrichv1.EnrichResponse, *spb.Status) {
	response, source, err := s.contained(ctx, call, message, request)
	s.leaveItem(call, status.Code(err), source, began)
	if err != nil {
		return nil, status.Convert(err).Proto()
	}
	return response, nil
}

// contained answers one request of several: a panic fails this one alone. The
// error is a status.
func (s *Server) contained(ctx context.Context, call *call, message *enrichv1.EnrichRequest, request enrich.Request) (response *enrichv1.EnrichResponse, source string, err error) {
	defer func() {
		if recover() != nil {
			response, source, err = nil, sourceNone, s.panicked(ctx)
		}
	}()
	response, source, err = s.answer(ctx, call, message, request)
	if err != nil {
		err = s.statusOf(ctx, err)
	}
	return response, source, err
}
