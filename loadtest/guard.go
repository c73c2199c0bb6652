package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/enrichd/enrichd/loadtest/scenario"
)

// guard refuses to ask machines outside this one and private networks, unless
// the command line names them. It returns the target by the addresses that it
// found: a name that were looked up again might lead elsewhere by then.
func guard(target *scenario.Target, public []string) (*scenario.Target, error) {
	found := *target
	for _, address := range []*string{&found.GRPC, &found.REST, &found.Vendors} {
		if *address == "" {
			continue
		}
		at, err := lookUp(*address, public)
		if err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
		*address = at
	}
	return &found, nil
}

// lookUp returns where a host:port is. Hosts that the command line names stay
// names.
func lookUp(address string, public []string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("%q is not of the form host:port, with an IPv6 address in brackets", address)
	}
	// What follows the colon becomes a part of URLs, where more than a number
	// could name another host.
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%s: the port is no number from 1 to 65535", address)
	}
	if host == "" {
		return "", fmt.Errorf("%s: there is no host", address)
	}
	if slices.Contains(public, host) {
		return address, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return "", err
	}
	for _, at := range found {
		if !at.IP.IsLoopback() && !at.IP.IsPrivate() {
			return "", fmt.Errorf("%s is at %s, outside this machine and private networks: name it with --public %s if it is yours", host, at.IP, host)
		}
	}
	// Of several addresses the one that services of one name most likely listen
	// at: localhost is often both, and many listen at 127.0.0.1 alone.
	at := max(slices.IndexFunc(found, func(a net.IPAddr) bool { return a.IP.To4() != nil }), 0)
	return net.JoinHostPort(found[at].String(), port), nil
}
