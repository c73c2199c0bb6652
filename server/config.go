package server

import (
	"errors"
	"fmt"
	"math"
	"net"
	"time"
)

const (
	// headerTimeout bounds how long a connection may take to say what it wants:
	// the headers of a REST request, the handshake of gRPC.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a REST connection may wait for its next request.
	idleTimeout = 2 * time.Minute
	// maxHeaderBytes bounds the headers of one request on both paths.
	maxHeaderBytes = 64 << 10
)

// Config is what the edge obeys. The zero Config listens on loopback.
type Config struct {
	// GRPC is the address of the gRPC listener. Default 127.0.0.1:8471; port 0
	// takes a free one.
	GRPC string `yaml:"grpc"`
	// HTTP is the address of the REST listener. Default 127.0.0.1:8470; port 0
	// takes a free one.
	HTTP string `yaml:"http"`
	// MaxMessageBytes is the longest request accepted. Longer ones are refused
	// before they are read whole. Default 4 MiB, at least 4 KiB.
	MaxMessageBytes int `yaml:"max_message_bytes"`
	// MaxRequests is how many requests may be under way at once, over both
	// listeners; more are refused as unavailable, to be sent again a second
	// later. Each may hold a message of MaxMessageBytes. Default 4096.
	MaxRequests int `yaml:"max_requests"`
	// MaxStreams is how many calls one gRPC connection may have under way;
	// clients hold further ones back. Default 1024.
	MaxStreams int `yaml:"max_streams"`
	// BodyTimeout is how long a request's body may take to arrive, and how long
	// a REST caller may take to accept the answer. Default 30 s.
	BodyTimeout time.Duration `yaml:"body_timeout"`
	// NoReflection switches the gRPC reflection service off: tools such as
	// grpcurl then need the .proto files.
	NoReflection bool `yaml:"no_reflection"`
	// AllowRemote allows listeners on addresses other than loopback, and
	// requests for other hosts than loopback's. There are no API keys yet:
	// whoever reaches the listener spends your credits.
	AllowRemote bool `yaml:"allow_remote"`
	// DrainTimeout is how long requests under way may still take when the
	// service stops. Shorter than the answers' retry budget, it cuts off
	// requests that vendors have been paid for. Default 60 s.
	DrainTimeout time.Duration `yaml:"drain_timeout"`
}

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.GRPC == "" {
		c.GRPC = "127.0.0.1:8471"
	}
	if c.HTTP == "" {
		c.HTTP = "127.0.0.1:8470"
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = 4 << 20
	}
	if c.MaxRequests == 0 {
		c.MaxRequests = 4096
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = 1024
	}
	if c.BodyTimeout == 0 {
		c.BodyTimeout = 30 * time.Second
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = time.Minute
	}
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	c = c.WithDefaults()
	for _, listener := range []struct{ name, address string }{{"grpc", c.GRPC}, {"http", c.HTTP}} {
		if err := checkListener(listener.address, c.AllowRemote); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", listener.name, err))
		}
	}
	if c.MaxMessageBytes < 4<<10 {
		problems = append(problems, errors.New("max_message_bytes: must be at least 4096"))
	}
	if c.MaxRequests < 1 {
		problems = append(problems, errors.New("max_requests: must be at least 1"))
	}
	if c.MaxStreams < 1 || c.MaxStreams > math.MaxInt32 {
		problems = append(problems, errors.New("max_streams: must be from 1 to 2147483647"))
	}
	if c.BodyTimeout < 0 {
		problems = append(problems, errors.New("body_timeout: must not be negative"))
	}
	if c.DrainTimeout < 0 {
		problems = append(problems, errors.New("drain_timeout: must not be negative"))
	}
	return problems
}

func checkListener(address string, allowRemote bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not host:port", address)
	}
	if !allowRemote && !isLoopback(host) {
		return fmt.Errorf("%q is reachable from other machines and there are no API keys: set allow_remote if something in front of it authenticates callers", address)
	}
	return nil
}
