package server

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestCodecSendsEachAnswerWhole(t *testing.T) {
	made := &enrichv1.EnrichResponse{Email: "anna.weber@acme.example", Person: &enrichv1.Person{FullName: proto.String("Anna Weber")}, IdempotencyKey: "k"}
	wire, err := proto.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	rendered := &enrichv1.EnrichResponse{}
	rendered.ProtoReflect().SetUnknown(wire)
	newer := proto.Clone(made).(*enrichv1.EnrichResponse) // as a newer version kept it
	newer.ProtoReflect().SetUnknown(protoreflect.RawFields("\xf8\x07\x01"))

	for name, message := range map[string]proto.Message{
		"encoded": rendered, "made": made, "made, of a newer version": newer, "empty": &enrichv1.EnrichResponse{},
		"another":                             &enrichv1.BatchEnrichResponse{Results: []*enrichv1.EnrichResult{{Result: &enrichv1.EnrichResult_Response{Response: rendered}}}},
		"encoded, of a stream":                &enrichv1.StreamEnrichResponse{CorrelationId: "c", Result: &enrichv1.StreamEnrichResponse_Response{Response: rendered}},
		"encoded, of a stream, without an id": &enrichv1.StreamEnrichResponse{Result: &enrichv1.StreamEnrichResponse_Response{Response: rendered}},
		"made, of a stream":                   &enrichv1.StreamEnrichResponse{CorrelationId: "c", Result: &enrichv1.StreamEnrichResponse_Response{Response: newer}},
		"error, of a stream":                  &enrichv1.StreamEnrichResponse{CorrelationId: "c", Result: &enrichv1.StreamEnrichResponse_Error{}},
	} {
		sent, err := newCodec().Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		if got := sent.Materialize(); string(got) != string(want) {
			t.Errorf("%s: sent %q, want %q", name, got, want)
		}
		sent.Free()
	}
	if sent, err := newCodec().Marshal(rendered); err != nil || len(sent) != 1 || &sent[0].ReadOnlyData()[0] != &wire[0] {
		t.Error("an encoded answer was copied")
	}
}
