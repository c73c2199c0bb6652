package telemetry

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"time"
)

// Config is what the process shows of itself. The zero Config shows only logs.
type Config struct {
	// Admin is the address of the listener for /metrics and, to callers on the
	// same machine, /debug/pprof/. Metrics name accounts and providers: keep it
	// off the public network. Port 0 takes a free one. Default none.
	Admin string `yaml:"admin"`
	// LogFormat of the lines of the log: json for programs, text for people.
	// Default json.
	LogFormat string `yaml:"log_format"`
	// Traces go to an OpenTelemetry collector.
	Traces TracesConfig `yaml:"traces"`
}

// TracesConfig says where spans go. The zero TracesConfig makes none.
type TracesConfig struct {
	// Endpoint of the collector: http://host:4318 or https:// for OTLP over
	// HTTP, grpc://host:4317 or grpcs:// for OTLP over gRPC. Default none: no
	// spans are made.
	Endpoint string `yaml:"endpoint"`
	// Headers go along with every export, such as a collector's token. Default
	// none.
	Headers map[string]string `yaml:"headers" secret:"true"`
	// Sample is the share of requests that are traced, from 0 to 1, where the
	// caller has not decided already. Spans cost CPU only for these. Default
	// 0.01; negative: only what callers trace.
	Sample float64 `yaml:"sample"`
	// Timeout is how long one export may take; spans that cannot be sent
	// meanwhile are dropped. Default 5s.
	Timeout time.Duration `yaml:"timeout"`
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	if c.Admin != "" {
		if _, _, err := net.SplitHostPort(c.Admin); err != nil {
			problems = append(problems, errors.New("admin: must be host:port, such as 127.0.0.1:8472"))
		}
	}
	if !slices.Contains([]string{"", formatJSON, formatText}, c.LogFormat) {
		problems = append(problems, errors.New("log_format: must be json or text"))
	}
	for _, problem := range c.Traces.validate() {
		problems = append(problems, fmt.Errorf("traces: %w", problem))
	}
	return problems
}

// schemes of a collector's endpoint.
var schemes = map[string]struct{ grpc, secure bool }{
	"http": {false, false}, "https": {false, true}, "grpc": {true, false}, "grpcs": {true, true},
}

func (c TracesConfig) validate() (problems []error) {
	if c.Endpoint != "" {
		endpoint, err := url.Parse(c.Endpoint)
		if _, known := schemes[schemeOf(endpoint)]; err != nil || !known || endpoint.Host == "" || endpoint.User != nil {
			problems = append(problems, fmt.Errorf("endpoint: must be one of %v followed by ://host:port, without a password", slices.Sorted(maps.Keys(schemes))))
		}
	}
	if c.Sample > 1 {
		problems = append(problems, errors.New("sample: must be at most 1"))
	}
	if c.Timeout < 0 {
		problems = append(problems, errors.New("timeout: must not be negative"))
	}
	return problems
}

func schemeOf(endpoint *url.URL) string {
	if endpoint == nil {
		return ""
	}
	return endpoint.Scheme
}

// WithDefaults returns c with its zero fields set.
func (c TracesConfig) WithDefaults() TracesConfig {
	if c.Sample == 0 {
		c.Sample = 0.01
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	return c
}
