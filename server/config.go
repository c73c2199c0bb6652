package server

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
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
	// later, bulk from three quarters of them on, the standard lane from seven
	// eighths. Each may hold a message of MaxMessageBytes. Default 4096.
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
	// AllowRemote opens a service without accounts to other machines: listeners
	// on other addresses than loopback, and requests for other hosts than
	// loopback's. Whoever reaches it spends your credits. With accounts it is not
	// needed and changes nothing.
	AllowRemote bool `yaml:"allow_remote"`
	// TLS encrypts both listeners. Default: none; loopback needs none.
	TLS TLSConfig `yaml:"tls"`
	// AllowedOrigins are the sites whose pages may call REST from a browser
	// (CORS), as in "https://app.example". Default: none but the service's own.
	AllowedOrigins []string `yaml:"allowed_origins"`
	// StreamWidth is how many questions of one stream may be under way; reading
	// stops until one is answered. Over all streams it is MaxRequests. Default
	// 64.
	StreamWidth int `yaml:"stream_width"`
	// DrainDelay is how long the service, once told to stop, reports that it is
	// not ready while it still takes requests, so that whoever looks at its
	// readiness sends them elsewhere first. Longer than it takes load balancers
	// to notice, such as 5 s in Kubernetes. Default 0.
	DrainDelay time.Duration `yaml:"drain_delay"`
	// DrainTimeout is how long requests under way may still take when the
	// service stops. Shorter than the answers' retry budget, it cuts off
	// requests that vendors have been paid for. Default 60 s.
	DrainTimeout time.Duration `yaml:"drain_timeout"`
}

// TLSConfig says how connections are encrypted. Its files are read again when
// they change; connections go on.
type TLSConfig struct {
	// CertFile holds the service's certificate and those between it and an
	// authority, KeyFile its private key, in PEM. Default: no TLS.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ClientCAFile holds the authorities, in PEM, whose client certificates
	// authenticate accounts. A caller may show an API key instead of one.
	// Default: client certificates are not asked for.
	ClientCAFile string `yaml:"client_ca_file"`
	// RequireClient refuses connections without a client certificate of these
	// authorities. An API key is needed besides only where no account has the
	// certificate's name. Default false.
	RequireClient bool `yaml:"require_client"`
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
	if c.StreamWidth == 0 {
		c.StreamWidth = 64
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = time.Minute
	}
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	c = c.WithDefaults()
	for _, listener := range c.listeners() {
		_, port, err := net.SplitHostPort(listener.address)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %q is not host:port", listener.name, listener.address))
		} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			problems = append(problems, fmt.Errorf("%s: the port is not a number from 0 to 65535", listener.name))
		}
	}
	if _, port, _ := net.SplitHostPort(c.GRPC); c.GRPC == c.HTTP && port != "0" {
		problems = append(problems, errors.New("http: is the address of server.grpc; each listener needs its own"))
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
	if c.StreamWidth < 1 {
		problems = append(problems, errors.New("stream_width: must be at least 1"))
	}
	if c.BodyTimeout < 0 {
		problems = append(problems, errors.New("body_timeout: must not be negative"))
	}
	if c.DrainDelay < 0 {
		problems = append(problems, errors.New("drain_delay: must not be negative"))
	}
	if c.DrainTimeout < 0 {
		problems = append(problems, errors.New("drain_timeout: must not be negative"))
	}
	for i, origin := range c.AllowedOrigins {
		if page, err := url.Parse(origin); err != nil || page.Host == "" || page.Scheme+"://"+page.Host != origin {
			problems = append(problems, fmt.Errorf("allowed_origins[%d]: must be a scheme and a host such as https://app.example", i))
		}
	}
	return append(problems, c.TLS.validate()...)
}

func (c TLSConfig) validate() (problems []error) {
	if (c.CertFile == "") != (c.KeyFile == "") {
		problems = append(problems, errors.New("tls.key_file: cert_file and key_file are set together"))
	}
	if c.ClientCAFile != "" && c.CertFile == "" {
		problems = append(problems, errors.New("tls.client_ca_file: needs cert_file and key_file"))
	}
	if c.RequireClient && c.ClientCAFile == "" {
		problems = append(problems, errors.New("tls.require_client: needs client_ca_file"))
	}
	return problems
}

// ValidateOpen reports what a service without accounts cannot obey besides:
// whoever reaches its listeners may do everything.
func (c Config) ValidateOpen() (problems []error) {
	for _, listener := range c.WithDefaults().listeners() {
		if host, _, err := net.SplitHostPort(listener.address); err == nil && !c.AllowRemote && !isLoopback(host) {
			problems = append(problems, fmt.Errorf(
				"%s: %q is reachable from other machines and there are no accounts: configure some, or set allow_remote if something in front authenticates callers",
				listener.name, listener.address))
		}
	}
	return problems
}

type listenerConfig struct{ name, address string }

func (c Config) listeners() []listenerConfig {
	return []listenerConfig{{"grpc", c.GRPC}, {"http", c.HTTP}}
}
