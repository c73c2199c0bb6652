package server

import (
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// codec is gRPC's own, but for answers that are encoded already (see wireAnswer):
// those are sent from where they are, instead of being measured and copied first.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(protocodec.Name)} }

// Marshal encodes a message.
func (c codec) Marshal(message any) (mem.BufferSlice, error) {
	switch message := message.(type) {
	case *enrichv1.EnrichResponse:
		if sent := encoded(message); sent != nil {
			return mem.BufferSlice{mem.SliceBuffer(sent)}, nil
		}
	case *enrichv1.StreamEnrichResponse:
		if sent := encoded(message.GetResponse()); sent != nil {
			head := appendText(make([]byte, 0, shortID+16), streamCorrelationID, message.GetCorrelationId())
			head = protowire.AppendVarint(appendTag(head, streamResponse, protowire.BytesType), uint64(len(sent)))
			return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(sent)}, nil
		}
	}
	return c.CodecV2.Marshal(message)
}

// encoded is the wire form of an answer that has nothing but encoded fields, nil
// for another one.
func encoded(answer *enrichv1.EnrichResponse) []byte {
	fields := answer.ProtoReflect().GetUnknown()
	if len(fields) == 0 || proto.Size(answer) > len(fields) {
		return nil
	}
	return fields
}
