package sinks

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Config lists the receivers of what was found. The zero Config has none.
type Config struct {
	// Webhooks are posted to.
	Webhooks []WebhookConfig `yaml:"webhooks"`
	// Files are appended to.
	Files []FileConfig `yaml:"files"`
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	named := map[string]bool{}
	check := func(path, name string) {
		switch {
		case name == "":
			problems = append(problems, fmt.Errorf("%s.name: is missing", path))
		case named[name]:
			problems = append(problems, fmt.Errorf("%s.name: another sink has it", path))
		}
		named[name] = true
	}
	for i, webhook := range c.Webhooks {
		path := fmt.Sprintf("webhooks[%d]", i)
		check(path, webhook.Name)
		made, err := NewWebhook(webhook)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
			continue
		}
		_ = made.Close()
	}
	written := map[string]bool{}
	for i, file := range c.Files {
		path := fmt.Sprintf("files[%d]", i)
		check(path, file.Name)
		switch place := filepath.Clean(file.Path); {
		case file.Path == "":
			problems = append(problems, fmt.Errorf("%s.path: is missing", path))
		case written[place]:
			problems = append(problems, fmt.Errorf("%s.path: another sink has it", path))
		default:
			written[place] = true
		}
		if file.RotateBytes < 0 {
			problems = append(problems, fmt.Errorf("%s.rotate_bytes: is negative", path))
		}
	}
	return problems
}

// New makes all sinks, or none.
func New(config Config) (all []Sink, err error) {
	defer func() {
		if err != nil {
			for _, sink := range all {
				err = errors.Join(err, sink.Close())
			}
			all = nil
		}
	}()
	for _, each := range config.Webhooks {
		webhook, err := NewWebhook(each)
		if err != nil {
			return all, fmt.Errorf("sinks: %s: %w", each.Name, err)
		}
		all = append(all, webhook)
	}
	for _, each := range config.Files {
		file, err := NewFile(each)
		if err != nil {
			return all, err
		}
		all = append(all, file)
	}
	return all, nil
}
