package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/enrichd/enrichd/providers"
)

// Hidden stands for a secret in what is printed.
const Hidden = "(hidden)"

// WithDefaults returns c with its zero fields set, as each package does, and
// those of providers as their definitions do.
func (c Config) WithDefaults() Config {
	c.Telemetry.Traces = c.Telemetry.Traces.WithDefaults()
	c.Server = c.Server.WithDefaults()
	c.Accounts = c.Accounts.WithDefaults()
	c.Privacy = c.Privacy.WithDefaults()
	c.Idempotency = c.Idempotency.WithDefaults()
	c.Answers = c.Answers.WithDefaults()
	c.Cache = c.Cache.WithDefaults()
	c.Router = c.Router.WithDefaults()
	c.Quota = c.Quota.WithDefaults()
	if c.AcceptsLeads() {
		c.Store = c.Store.WithDefaults()
	}
	c.Jobs = c.Jobs.WithDefaults()
	c.Intake = c.Intake.WithDefaults()
	if set, err := providers.New(c.Providers, providers.Options{}); err == nil {
		defer set.Close()
		c.Providers.List = nil
		for _, vendor := range set.Vendors() {
			c.Providers.List = append(c.Providers.List, vendor.Config())
		}
	}
	return c
}

// YAML is the configuration as a file would say it, fields in their order. What
// the packages mark as secret is [Hidden], however it came into the
// configuration. Empty texts, lists and mappings are left out.
func (c Config) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(c.sections(), yaml.IndentSequence(true))
}

// JSON is [Config.YAML] as JSON.
func (c Config) JSON() ([]byte, error) {
	return json.Marshal(unordered(c.sections()))
}

// sections are the configuration in the types that the YAML library prints. No
// store is no section, for one that says nothing is refused.
func (c Config) sections() yaml.MapSlice {
	all := printedFields(reflect.ValueOf(c))
	if c.AcceptsLeads() {
		return all
	}
	return slices.DeleteFunc(all, func(section yaml.MapItem) bool { return section.Key == "store" })
}

func unordered(value any) any {
	switch value := value.(type) {
	case yaml.MapSlice:
		entries := map[string]any{}
		for _, item := range value {
			entries[item.Key.(string)] = unordered(item.Value)
		}
		return entries
	case []any:
		for i := range value {
			value[i] = unordered(value[i])
		}
	}
	return value
}

// isSecret tells whether a field is one that must not be seen.
func isSecret(field reflect.StructField) bool { return field.Tag.Get("secret") == "true" }

// printed is a value of a Config in the types that the YAML library prints.
func printed(value reflect.Value, secret bool) any {
	if text, isText := asText(value); isText {
		if secret && text != "" {
			return Hidden
		}
		return text
	}
	switch value.Kind() {
	case reflect.Struct:
		return printedFields(value)
	case reflect.Map:
		return printedEntries(value, secret)
	case reflect.Slice:
		if value.IsNil() { // an entry of a mapping; an empty list could mean none
			return nil
		}
		items := make([]any, value.Len())
		for i := range items {
			items[i] = printed(value.Index(i), secret)
		}
		return items
	case reflect.Pointer:
		return printed(value.Elem(), secret)
	default:
		if secret {
			return Hidden
		}
		return value.Interface()
	}
}

func printedFields(value reflect.Value) (fields yaml.MapSlice) {
	for _, field := range fieldsOf(value.Type()) {
		if one := value.FieldByIndex(field.Index); !isEmpty(one) {
			fields = append(fields, yaml.MapItem{Key: field.Tag.Get("yaml"), Value: printed(one, isSecret(field))})
		}
	}
	return fields
}

func printedEntries(value reflect.Value, secret bool) (entries yaml.MapSlice) {
	keys := value.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		entries = append(entries, yaml.MapItem{Key: key.String(), Value: printed(value.MapIndex(key), secret)})
	}
	return entries
}

// isEmpty tells whether there is nothing to print. Numbers, times and switches
// always say something.
func isEmpty(value reflect.Value) bool {
	if _, isText := asText(value); isText {
		return value.Kind() != reflect.Int && value.Kind() != reflect.Int64 && value.IsZero()
	}
	switch value.Kind() {
	case reflect.Slice, reflect.Map:
		return value.Len() == 0
	case reflect.Pointer:
		return value.IsNil()
	case reflect.Struct:
		for i := range value.NumField() {
			if !isEmpty(value.Field(i)) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// asText returns what is written in one piece of text.
func asText(value reflect.Value) (string, bool) {
	switch one := value.Interface().(type) {
	case time.Duration:
		return one.String(), true
	case slog.Level:
		return strings.ToLower(one.String()), true
	case encoding.TextMarshaler:
		text, err := one.MarshalText()
		return string(text), err == nil
	}
	return fmt.Sprint(value), value.Kind() == reflect.String
}
