// Package config reads the one configuration file. It only composes what the
// packages declare as their own Config, so a field is described where it is
// obeyed; enrichd.example.yaml shows them together.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
	"github.com/enrichd/enrichd/server"
)

// Config is all that the program obeys. The zero Config runs, with no provider.
type Config struct {
	Log       Log              `yaml:"log"`
	Server    server.Config    `yaml:"server"`
	Email     email.Config     `yaml:"email"`
	Answers   enrich.Config    `yaml:"answers"`
	Cache     cache.Config     `yaml:"cache"`
	Router    router.Config    `yaml:"router"`
	Quota     quota.Config     `yaml:"quota"`
	Providers providers.Config `yaml:"providers"`
}

// Log is how much is logged.
type Log struct {
	// Level of what is logged at least: debug, info, warn or error. Default
	// info.
	Level slog.Level `yaml:"level"`
}

// problems joins what the packages find wrong with their parts, each with the
// line of its field.
func (c Config) problems(file string, body ast.Node) error {
	var all []error
	for _, part := range []struct {
		path  string
		found []error
	}{
		{"server", c.Server.Validate()},
		{"email", unjoin(c.Email.Validate())},
		{"answers", c.Answers.Validate()},
		{"cache", c.Cache.Validate()},
		{"router", c.Router.Validate()},
		{"quota", c.Quota.Validate()},
		{"providers", unjoin(c.Providers.Validate())},
	} {
		for _, problem := range part.found {
			field, text, named := strings.Cut(problem.Error(), ": ")
			if !named {
				field, text = "", problem.Error()
			}
			path := strings.TrimSuffix(fmt.Sprintf("%s.%s", part.path, field), ".")
			all = append(all, Problem{File: file, Line: lineOf(body, path), Path: path, Text: text})
		}
	}
	return errors.Join(all...)
}

// unjoin returns the errors that errors.Join made one.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}
