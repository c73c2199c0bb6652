package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	standard "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/loadtest/fleet"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// unread is the standard codec, but answers stay as they came. A client that decoded
// them would work longer than the service does, which then waits, is woken for every
// call and is measured cold; a floor, whose answers are one field, would not.
type unread struct{ encoding.CodecV2 }

func (unread) Unmarshal(message mem.BufferSlice, into any) error {
	if reply := into.(*reply); reply.keep {
		reply.message = message.Materialize()
	}
	return nil
}

// reply is an answer that is not decoded.
type reply struct {
	keep    bool // its message is wanted
	message []byte
}

// unreading connects to a process whose answers are not decoded.
func (b *bench) unreading(process *fleet.Process) (*grpc.ClientConn, error) {
	return b.connect(process.GRPC, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(unread{encoding.GetCodecV2(standard.Name)})))
}

// enrich asks for one lead.
func enrich(ctx context.Context, connection *grpc.ClientConn, request *enrichv1.EnrichRequest) error {
	return connection.Invoke(ctx, enrichv1.EnrichService_Enrich_FullMethodName, request, new(reply))
}

// checkOne in so many batches, or leads of a stream, is decoded: the call alone does
// not tell that each lead was answered.
const checkOne = 50

// enrichBatch asks for leads in the nth batch.
func enrichBatch(ctx context.Context, connection *grpc.ClientConn, n int64, requests []*enrichv1.EnrichRequest) error {
	got := reply{keep: n%checkOne == 0}
	if err := connection.Invoke(ctx, enrichv1.EnrichService_BatchEnrich_FullMethodName, &enrichv1.BatchEnrichRequest{Requests: requests}, &got); err != nil || !got.keep {
		return err
	}
	var batch enrichv1.BatchEnrichResponse
	if err := proto.Unmarshal(got.message, &batch); err != nil {
		return err
	}
	if len(batch.GetResults()) != len(requests) {
		return fmt.Errorf("batch: %d results", len(batch.GetResults()))
	}
	for _, result := range batch.GetResults() {
		if result.GetResponse() == nil {
			return fmt.Errorf("batch: %s", result.GetError().GetMessage())
		}
	}
	return nil
}

// openStream opens a stream whose answers are not decoded.
func openStream(ctx context.Context, connection *grpc.ClientConn) (grpc.ClientStream, error) {
	return connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, enrichv1.EnrichService_StreamEnrich_FullMethodName)
}

// enrichAhead asks a stream for leads and reads as many answers.
func enrichAhead(stream grpc.ClientStream, requests []*enrichv1.EnrichRequest) error {
	for _, request := range requests {
		if err := stream.SendMsg(&enrichv1.StreamEnrichRequest{Request: request}); err != nil {
			return err
		}
	}
	for n := range requests {
		got := reply{keep: n%checkOne == 0}
		if err := stream.RecvMsg(&got); err != nil {
			return err
		}
		if !got.keep {
			continue
		}
		var lead enrichv1.StreamEnrichResponse
		if err := proto.Unmarshal(got.message, &lead); err != nil {
			return err
		}
		if lead.GetResponse() == nil {
			return fmt.Errorf("stream: %s", lead.GetError().GetMessage())
		}
	}
	return nil
}
