package main

import (
	"net"
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
		// The port may not lead to another host, and must be one.
		"10.1.2.3:1@127.0.0.1": false,
		"127.0.0.1:1@8.8.8.8":  false,
		"127.0.0.1:80/x":       false,
		"127.0.0.1:http":       false,
		"127.0.0.1:":           false,
		"127.0.0.1:0":          false,
		"127.0.0.1:-1":         false,
		"127.0.0.1:99999":      false,
		":8471":                false,
	} {
		_, err := guard(&scenario.Target{GRPC: address}, nil)
		if (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	outside := &scenario.Target{REST: "192.0.2.1:80"}
	if _, err := guard(outside, []string{"192.0.2.1"}); err != nil {
		t.Errorf("named on the command line: %v", err)
	}
	if _, err := guard(outside, []string{"192.0.2.2"}); err == nil || !strings.Contains(err.Error(), "--public 192.0.2.1") {
		t.Errorf("another one named: %v", err)
	}
}

// TestTheFormOfAnAddressIsSaid where a URL or a bare host is given for it.
func TestTheFormOfAnAddressIsSaid(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:8471", "127.0.0.1", "::1:8471"} {
		if _, err := guard(&scenario.Target{GRPC: address}, nil); err == nil || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestWhatTheGuardFoundIsAsked: a name is looked up once, but for those that the
// command line names.
func TestWhatTheGuardFoundIsAsked(t *testing.T) {
	target := &scenario.Target{GRPC: "localhost:8471", REST: "[::1]:8470", Vendors: "127.0.0.1:8490"}
	found, err := guard(target, nil)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(found.GRPC)
	if err != nil || net.ParseIP(host).To4() == nil || port != "8471" || found.REST != target.REST || found.Vendors != target.Vendors {
		t.Errorf("found %+v, %v", found, err)
	}
	// The name is the one that the certificate must have.
	target.TLS, target.GRPCName = &scenario.TLS{}, "localhost"
	if found, err := guard(target, nil); err != nil || found.TLS == nil || found.GRPCName != "localhost" || found.GRPC == target.GRPC {
		t.Errorf("with TLS found %+v, %v", found, err)
	}
	named, err := guard(target, []string{"localhost"})
	if err != nil || named.GRPC != target.GRPC {
		t.Errorf("named on the command line: %+v, %v", named, err)
	}
}
