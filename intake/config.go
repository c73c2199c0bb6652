package intake

import (
	"fmt"

	"github.com/enrichd/enrichd/sinks"
)

// Config is what is taken in. The zero Config has the defaults.
type Config struct {
	// EventSecrets sign events as Standard Webhooks says; any of them will do.
	// "whsec_" and base64. None: an API key is enough. Default: none.
	EventSecrets []string `yaml:"event_secrets" secret:"true"`
	// EventPurpose is what the leads of events are wanted for, where the account
	// has purposes: events name none, and without it they are refused. Default
	// none.
	EventPurpose string `yaml:"event_purpose"`
	// MaxImportBytes is the longest file of an import, uncompressed. It is put
	// aside in the system's folder for temporary files. Default 256 MiB.
	MaxImportBytes int64 `yaml:"max_import_bytes"`
}

const defaultMaxImport = 256 << 20

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.MaxImportBytes == 0 {
		c.MaxImportBytes = defaultMaxImport
	}
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	for i, text := range c.EventSecrets {
		if _, err := sinks.ParseSecret(text); err != nil {
			problems = append(problems, fmt.Errorf("event_secrets[%d]: is not whsec_ and base64 of 24 to 64 bytes", i))
		}
	}
	if c.MaxImportBytes < 0 {
		problems = append(problems, fmt.Errorf("max_import_bytes: %d is negative", c.MaxImportBytes))
	}
	return problems
}

// Secrets are those that sign events.
func (c Config) Secrets() (all []sinks.Secret, err error) {
	for _, text := range c.EventSecrets {
		secret, err := sinks.ParseSecret(text)
		if err != nil {
			return nil, err
		}
		all = append(all, secret)
	}
	return all, nil
}
