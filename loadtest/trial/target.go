package trial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/scenario"
)

// targetFor is a service of one's own as a traffic asks it.
func targetFor(via string, target *scenario.Target) (drive.Service, error) {
	service := drive.Service{GRPC: target.GRPC, REST: target.REST}
	if target.KeyFile != "" {
		text, err := os.ReadFile(filepath.Clean(target.KeyFile))
		if err != nil {
			return service, fmt.Errorf("key: %w", err)
		}
		service.Key = strings.TrimSpace(string(text))
	}
	if target.TLS == nil {
		return service, nil
	}
	var err error
	if service.TLS, err = target.TLS.Config(); err != nil {
		return service, fmt.Errorf("tls: %w", err)
	}
	service.TLS.ServerName = target.GRPCName
	if via == "rest" {
		service.TLS.ServerName = target.RESTName
	}
	return service, nil
}

// longestGreeting is how long a target may take to shake hands.
const longestGreeting = 5 * time.Second

// greet shakes hands with a target once for every address that will be asked. A
// certificate that one side does not take would be told as a service that is
// away, and not why; it is an error before anything is asked.
func (t *trial) greet(ctx context.Context) error {
	if t.Target == nil || t.Target.TLS == nil {
		return nil
	}
	greeted := map[string]bool{}
	for _, traffic := range t.Traffic {
		service, err := targetFor(traffic.Via, t.Target)
		if err != nil {
			return err
		}
		address := service.GRPC
		if traffic.Via == "rest" {
			address = service.REST
		}
		if greeted[address] {
			continue
		}
		greeted[address] = true
		if err := shakeHands(ctx, address, service.TLS); err != nil {
			return fmt.Errorf("target: %s: %w", address, err)
		}
	}
	return nil
}

// shakeHands tells why there can be no TLS. One who is away or silent is no
// error: the report will say so.
func shakeHands(ctx context.Context, address string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, longestGreeting)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil
	}
	defer plain.Close()
	deadline, _ := ctx.Deadline()
	_ = plain.SetDeadline(deadline)
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	connection := tls.Client(plain, config)
	err = connection.HandshakeContext(ctx)
	if err == nil && connection.ConnectionState().NegotiatedProtocol == "h2" {
		// Our side is through before the other has seen our certificate. What it
		// thinks of it comes instead of the first bytes, which are its in HTTP/2.
		_, err = connection.Read(make([]byte, 1))
	}
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		return nil
	}
	return err
}
