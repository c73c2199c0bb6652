package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/enrichd/enrichd/loadtest/scenario"
)

// guard refuses to ask machines outside this one and private networks, unless
// the command line names them.
func guard(target *scenario.Target, public []string) error {
	for _, address := range []string{target.GRPC, target.REST, target.Vendors} {
		if address == "" {
			continue
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("target: %s: %w", address, err)
		}
		if slices.Contains(public, host) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		cancel()
		if err != nil {
			return fmt.Errorf("target: %w", err)
		}
		for _, at := range found {
			if !at.IP.IsLoopback() && !at.IP.IsPrivate() {
				return fmt.Errorf("target: %s is at %s, outside this machine and private networks: name it with --public %s if it is yours", host, at.IP, host)
			}
		}
	}
	return nil
}

// sayWhatWouldBeDone is the dry run.
func sayWhatWouldBeDone(s *scenario.Scenario) {
	fmt.Printf("%s would ask grpc %q, rest %q for %s; add --really to do it:\n", s.Name, s.Target.GRPC, s.Target.REST, s.Length)
	for _, t := range s.Traffic {
		how := fmt.Sprintf("%d workers one lead after the other", t.Workers)
		if t.Rate > 0 {
			how = fmt.Sprintf("%g leads a second", t.Rate)
		}
		fmt.Printf("  %s: %s, via %s, %s\n", t.Name, how, t.Via, t.Workload.Kind)
	}
	fmt.Println("vendors behind a real service bill what it asks of them")
}
