package server

import (
	"errors"
	"fmt"
	"net"
	"time"
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
	// NoReflection switches the gRPC reflection service off: tools such as
	// grpcurl then need the .proto files.
	NoReflection bool `yaml:"no_reflection"`
	// AllowRemote allows listeners on addresses other than loopback. There are
	// no API keys yet: whoever reaches the listener spends your credits.
	AllowRemote bool `yaml:"allow_remote"`
	// DrainTimeout is how long requests under way may still take when the
	// service stops. Default 30 s.
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
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 30 * time.Second
	}
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	c = c.WithDefaults()
	for name, address := range map[string]string{"grpc": c.GRPC, "http": c.HTTP} {
		if err := checkListener(address, c.AllowRemote); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	if c.MaxMessageBytes < 4<<10 {
		problems = append(problems, errors.New("max_message_bytes: must be at least 4096"))
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
	ip := net.ParseIP(host)
	if !allowRemote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q is reachable from other machines and there are no API keys: set allow_remote if something in front of it authenticates callers", address)
	}
	return nil
}
