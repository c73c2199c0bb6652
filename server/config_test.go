package server

import "testing"

func TestConfigValidate(t *testing.T) {
	if problems := (Config{}).Validate(); problems != nil {
		t.Errorf("the zero value is refused: %v", problems)
	}
	problems := Config{GRPC: "0.0.0.0:1", HTTP: "nonsense", MaxMessageBytes: 5, MaxRequests: -1, MaxStreams: -1, BodyTimeout: -1, DrainTimeout: -1}.Validate()
	if len(problems) != 7 {
		t.Errorf("Validate = %v, want all seven problems", problems)
	}
	if problems := (Config{GRPC: "0.0.0.0:1", AllowRemote: true}).Validate(); problems != nil {
		t.Errorf("allow_remote does not allow: %v", problems)
	}
}
