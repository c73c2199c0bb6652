package drive

import (
	"context"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// batchDriver asks for all leads in one BatchEnrich.
type batchDriver struct{ *grpcDriver }

func (d batchDriver) Ask(ctx context.Context, questions []Question, answered func(int, Answer)) {
	batch := &enrichv1.BatchEnrichRequest{Requests: make([]*enrichv1.EnrichRequest, len(questions))}
	for i, question := range questions {
		batch.Requests[i] = question.message()
	}
	response, err := d.client.BatchEnrich(d.authorize(ctx), batch)
	for i := range questions {
		switch {
		case err != nil:
			answered(i, Answer{Code: status.Code(err).String()})
		case i >= len(response.GetResults()):
			answered(i, Answer{Code: codes.DataLoss.String()})
		case response.GetResults()[i].GetError() != nil:
			answered(i, Answer{Code: codes.Code(response.GetResults()[i].GetError().GetCode()).String()})
		default:
			answered(i, read(response.GetResults()[i].GetResponse()))
		}
	}
}

// streamDriver opens one stream for the leads of an exchange.
type streamDriver struct{ *grpcDriver }

func (d streamDriver) Ask(ctx context.Context, questions []Question, answered func(int, Answer)) {
	ctx, cancel := context.WithCancel(d.authorize(ctx))
	defer cancel()
	missing := make(map[int]bool, len(questions))
	for i := range questions {
		missing[i] = true
	}
	fail := func(err error) {
		for i := range missing {
			answered(i, Answer{Code: status.Code(err).String()})
		}
	}
	stream, err := d.client.StreamEnrich(ctx)
	if err != nil {
		fail(err)
		return
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i, question := range questions {
			// A failure to send is told by Recv.
			if stream.Send(&enrichv1.StreamEnrichRequest{CorrelationId: strconv.Itoa(i), Request: question.message()}) != nil {
				return
			}
		}
		_ = stream.CloseSend()
	}()
	for len(missing) > 0 {
		response, err := stream.Recv()
		if err != nil {
			fail(err)
			break
		}
		i, err := strconv.Atoi(response.GetCorrelationId())
		if err != nil || !missing[i] {
			continue
		}
		delete(missing, i)
		if failure := response.GetError(); failure != nil {
			answered(i, Answer{Code: codes.Code(failure.GetCode()).String()})
			continue
		}
		answered(i, read(response.GetResponse()))
	}
	cancel()
	<-sent
}
