package main

import (
	"strings"
	"testing"

	"github.com/enrichd/enrichd/loadtest/scenario"
)

func TestGuard(t *testing.T) {
	for address, allowed := range map[string]bool{
		"127.0.0.1:8471":   true,
		"[::1]:8471":       true,
		"10.1.2.3:8471":    true,
		"192.0.2.1:8471":   false, // TEST-NET-1 stands for the outside
		"[2001:db8::1]:80": false,
		"127.0.0.1":        false,
	} {
		err := guard(&scenario.Target{GRPC: address}, nil)
		if (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	outside := &scenario.Target{REST: "192.0.2.1:80"}
	if err := guard(outside, []string{"192.0.2.1"}); err != nil {
		t.Errorf("named on the command line: %v", err)
	}
	if err := guard(outside, []string{"192.0.2.2"}); err == nil || !strings.Contains(err.Error(), "--public 192.0.2.1") {
		t.Errorf("another one named: %v", err)
	}
}
