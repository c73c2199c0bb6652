// Command go asks a running service about one lead, a batch and a stream of
// leads, and shows what a client does about errors, waits and deadlines.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// deadline of every call, waits included: the service answers before it with
// what it has.
const deadline = 30 * time.Second

func main() {
	// A service with TLS takes credentials.NewTLS(&tls.Config{}) instead.
	address := cmp.Or(os.Getenv("ENRICHD_GRPC"), "127.0.0.1:8471")
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client, ctx := enrichv1.NewEnrichServiceClient(conn), context.Background()
	if key := os.Getenv("ENRICHD_KEY"); key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	}
	leads := os.Args[1:]
	if len(leads) == 0 {
		log.Fatal("name the leads' e-mail addresses")
	}
	for _, ask := range []func(context.Context, enrichv1.EnrichServiceClient, []string) error{one, batch, stream} {
		if err := ask(ctx, client, leads); err != nil {
			log.Fatal(err)
		}
	}
}

// one asks about the first lead.
func one(ctx context.Context, client enrichv1.EnrichServiceClient, leads []string) error {
	answer, err := patiently(ctx, func(ctx context.Context) (*enrichv1.EnrichResponse, error) {
		return client.Enrich(ctx, question(leads[0]))
	})
	if err != nil {
		return err
	}
	show("one", answer, nil)
	return nil
}

// batch asks about all leads at once; each has an answer or an error of its
// own, in the order of the questions.
func batch(ctx context.Context, client enrichv1.EnrichServiceClient, leads []string) error {
	request := &enrichv1.BatchEnrichRequest{}
	for _, lead := range leads {
		request.Requests = append(request.Requests, question(lead))
	}
	answer, err := patiently(ctx, func(ctx context.Context) (*enrichv1.BatchEnrichResponse, error) {
		return client.BatchEnrich(ctx, request)
	})
	if err != nil {
		return err
	}
	for _, result := range answer.GetResults() {
		show("batch", result.GetResponse(), status.ErrorProto(result.GetError()))
	}
	return nil
}

// stream sends leads while answers come back, in the order in which they are
// ready. The service takes questions as fast as it can answer them.
func stream(ctx context.Context, client enrichv1.EnrichServiceClient, leads []string) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	open, err := client.StreamEnrich(ctx)
	if err != nil {
		return err
	}
	go func() { // a failed Send shows as the error of Recv
		for i, lead := range leads {
			if open.Send(&enrichv1.StreamEnrichRequest{CorrelationId: fmt.Sprint(i), Request: question(lead)}) != nil {
				return
			}
		}
		_ = open.CloseSend()
	}()
	for {
		answer, err := open.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		show("stream "+answer.GetCorrelationId(), answer.GetResponse(), status.ErrorProto(answer.GetError()))
	}
}

func question(lead string) *enrichv1.EnrichRequest {
	return &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: lead}}
}

// patiently asks again while the service says when, and the deadline leaves
// time for it.
func patiently[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for {
		answer, err := ask(ctx)
		wait, told := retryDelay(err)
		ends, _ := ctx.Deadline()
		if err == nil || !told || time.Until(ends) <= wait {
			return answer, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer, err
		}
	}
}

// retryDelay is when the service says to ask again, if that can help.
func retryDelay(err error) (time.Duration, bool) {
	switch status.Code(err) {
	case codes.ResourceExhausted, codes.Unavailable:
	default:
		return 0, false
	}
	for _, detail := range status.Convert(err).Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			return max(retry.GetRetryDelay().AsDuration(), 100*time.Millisecond), true
		}
	}
	return 0, false
}

// show prints an answer, or why there is none.
func show(how string, answer *enrichv1.EnrichResponse, err error) {
	if err != nil {
		fmt.Printf("%s: error %s: %s\n", how, status.Code(err), status.Convert(err).Message())
		return
	}
	fmt.Printf("%s: %s %s, %s, %s\n", how, answer.GetOutcome(), answer.GetPerson().GetFullName(), answer.GetPerson().GetTitle(), answer.GetCompany().GetName())
}
