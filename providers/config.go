package providers

import (
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Config is the providers' part of the configuration.
type Config struct {
	// Folder holds definitions of your own, NAME.yaml each. One of the same
	// name replaces a built-in definition. Default none.
	Folder string `yaml:"folder"`

	// Proxy is the address of an HTTP proxy for all calls to vendors. The
	// environment's proxy settings are not looked at. A proxy sees where calls
	// go, and then it resolves the vendors' names, so allow_private can no
	// longer be enforced here. Default none.
	Proxy string `yaml:"proxy" secret:"true"`

	// List of providers in the order in which they are asked: primary,
	// secondary, and so on. Default none: nothing can be bought.
	List []ProviderConfig `yaml:"list"`
}

// ProviderConfig is one vendor account.
type ProviderConfig struct {
	// Name is the source of the provider's facts, and its name in metrics and
	// logs. Changing it makes remembered facts those of somebody else, so they
	// are bought again. Default: the name of the definition.
	Name string `yaml:"name"`

	// Definition is the name of a definition, or the path of a file. Required.
	Definition string `yaml:"definition"`

	// Credentials by the names that the definition lists under secrets.
	Credentials map[string]string `yaml:"credentials" secret:"true"`

	// Settings of the definition, by the names listed there. Default: the
	// definition's.
	Settings map[string]string `yaml:"settings"`

	// BaseURL replaces the host of all the vendor's calls, as for a sandbox or
	// a gateway. Default: the definition's.
	BaseURL string `yaml:"base_url"`

	// AllowPrivate allows calls to loopback and private network addresses, and
	// without TLS. Whoever can change the vendor's name service can then reach
	// services inside your network. Default false.
	AllowPrivate bool `yaml:"allow_private"`

	// Timeout is the longest one exchange may take. Shorter loses slow answers
	// that are paid for, longer takes time from the next provider. Default: the
	// definition's.
	Timeout time.Duration `yaml:"timeout"`

	// MaxAnswerBytes is the longest answer that is read, decompressed; a longer
	// one is malformed. Default: the definition's, 1 MiB.
	MaxAnswerBytes int64 `yaml:"max_answer_bytes"`

	// Plan you have with the vendor, one of those that the definition knows
	// limits for. Default: the definition's usual one.
	Plan string `yaml:"plan"`

	// Limits of your account, which replace the definition's. Too high ones
	// are answered with refusals, too low ones waste quota. Default: those of
	// the plan.
	Limits []enrich.Limit `yaml:"limits"`

	// Credit is what one credit costs you, in the currency of your budgets.
	// Default: the published price; where there is none, charges stay unknown.
	Credit *float64 `yaml:"credit"`

	// Credits overrides Credit for single calls, by operation.
	Credits map[string]float64 `yaml:"credits"`

	// Attributes to ask this provider for. Default: all that it supplies.
	Attributes []enrich.Attribute `yaml:"attributes"`

	// TraceContext sends the trace's and the span's id (the W3C traceparent
	// header) with the calls of traced requests, as to a gateway of your own. A
	// vendor learns from it which calls belong together. Default false.
	TraceContext bool `yaml:"trace_context"`
}

// Files lists the files and folders of the operator that definitions are read
// from.
func (c Config) Files() (files []string) {
	if c.Folder != "" {
		files = append(files, c.Folder)
	}
	for _, listed := range c.List {
		if strings.HasSuffix(listed.Definition, definitionSuffix) {
			files = append(files, listed.Definition)
		}
	}
	return files
}
