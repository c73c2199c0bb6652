package providers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// Set is the configured providers in their order. It does not change; [Set.Reload]
// makes another one.
type Set struct {
	vendors []*Vendor
	options Options
}

// Options are what a Set is built with besides its Config.
type Options struct {
	// Dial opens all connections when it is set; then addresses are not looked
	// at. For vendors that are reached over other than the network.
	Dial Dial
}

// New builds the configured providers. The error joins everything that is wrong
// with the configuration and the definitions in it.
func New(config Config, options Options) (*Set, error) {
	return (&Set{options: options}).Reload(config)
}

// Reload builds the providers of another configuration, with the same options.
// Those of which nothing has changed, their definitions included, are the same
// [Vendor]s in both; of the others connections stay where they lead the same
// way.
func (s *Set) Reload(config Config) (*Set, error) {
	next := &Set{options: s.options}
	var problems []error
	proxy, err := proxyURL(config.Proxy)
	if err != nil {
		problems = append(problems, err)
	}
	library := NewLibrary(config.Folder)
	if err := library.missing(); err != nil {
		problems = append(problems, fmt.Errorf("folder: %w", err))
	}
	for i, listed := range config.List {
		vendor, err := listed.vendor(library)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("list[%d]: %w", i, err))
		case next.Vendor(vendor.name) != nil:
			problems = append(problems, fmt.Errorf("list[%d]: name: %q is taken by an earlier provider", i, vendor.name))
		default:
			next.vendors = append(next.vendors, s.connected(vendor, proxy))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return next, nil
}

// connected returns the vendor with a transport, or that of s if nothing about it
// has changed.
func (s *Set) connected(vendor *Vendor, proxy *url.URL) *Vendor {
	way := way{allowPrivate: vendor.config.AllowPrivate}
	if proxy != nil {
		way.proxy = proxy.String()
	}
	before := s.Vendor(vendor.name)
	switch {
	case before == nil || before.way != way:
		vendor.transport = newTransport(s.options.Dial, proxy, way.allowPrivate)
	case before.definition.Same(vendor.definition) && reflect.DeepEqual(before.config, vendor.config):
		return before
	default:
		vendor.transport = before.transport
	}
	vendor.way = way
	return vendor
}

// Retire lets go of what next does not use any more. Look-ups under way in s go
// on; their connections are closed when they have ended.
func (s *Set) Retire(next *Set) {
	for _, vendor := range s.vendors {
		if same := next.Vendor(vendor.name); same == nil || same.transport != vendor.transport {
			vendor.close()
		}
	}
}

func proxyURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	proxy, err := url.Parse(text)
	if err != nil || proxy.Host == "" || proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, errors.New("proxy: must be an address such as http://proxy.example.com:3128")
	}
	return proxy, nil
}

// vendor builds one provider, reporting everything that is wrong with it.
// It has no transport yet.
func (c ProviderConfig) vendor(library Library) (*Vendor, error) {
	if c.Definition == "" {
		return nil, errors.New("definition: is missing")
	}
	definition, err := library.Load(c.Definition)
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	base, problems := c.base(definition)
	problems = append(problems, c.unknownNames(definition)...)
	if c.Timeout < 0 || c.MaxAnswerBytes < 0 {
		problems = append(problems, errors.New("timeout and max_answer_bytes must not be negative"))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	vendor := newVendor(c, definition, base)
	if len(vendor.calls) == 0 {
		return nil, errors.New("it offers no call: settings that its calls need are missing, or attributes excludes all that they supply")
	}
	return vendor, nil
}

// base returns the overriding address, nil without one. Without TLS only
// private addresses may be called.
func (c ProviderConfig) base(definition *engine.Definition) (base *url.URL, problems []error) {
	secure := definition.Secure()
	if c.BaseURL != "" {
		parsed, err := engine.ParseBaseURL(c.BaseURL)
		if err != nil {
			return nil, []error{fmt.Errorf("base_url: %w", err)}
		}
		base, secure = parsed, parsed.Scheme == "https"
	}
	if !secure && !c.AllowPrivate {
		problems = append(problems, errors.New("base_url: calls without TLS go to private networks only; allow_private allows them"))
	}
	return base, problems
}

// unknownNames reports names that the definition does not know, and
// credentials that it misses.
func (c ProviderConfig) unknownNames(definition *engine.Definition) (problems []error) {
	operations := map[string]bool{}
	for _, call := range definition.Calls() {
		operations[call.Operation] = true
	}
	for _, names := range []struct {
		field string
		given []string
		known []string
	}{
		{"credentials", sortedKeys(c.Credentials), definition.Secrets()},
		{"settings", sortedKeys(c.Settings), sortedKeys(definition.Settings())},
		{"credits", sortedKeys(c.Credits), sortedKeys(operations)},
	} {
		for _, name := range names.given {
			if !slices.Contains(names.known, name) {
				problems = append(problems, fmt.Errorf("%s: %s has no %q; known: %s", names.field, definition.Name, name, strings.Join(names.known, ", ")))
			}
		}
	}
	for _, secret := range definition.Secrets() {
		if c.Credentials[secret] == "" {
			problems = append(problems, fmt.Errorf("credentials: %s is missing", secret))
		}
	}
	if c.Plan != "" && !slices.Contains(definition.Plans(), c.Plan) {
		problems = append(problems, fmt.Errorf("plan: %s has no %q; known: %s", definition.Name, c.Plan, cmp.Or(strings.Join(definition.Plans(), ", "), "none")))
	}
	for _, attribute := range c.Attributes {
		if _, known := enrich.SpecOf(attribute); !known {
			problems = append(problems, fmt.Errorf("attributes: the contract has no attribute %q", attribute))
		}
	}
	for operation, credit := range c.Credits {
		if credit < 0 {
			problems = append(problems, fmt.Errorf("credits: %s must not be negative", operation))
		}
	}
	if c.Credit != nil && *c.Credit < 0 {
		problems = append(problems, errors.New("credit: must not be negative"))
	}
	return problems
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Vendors returns the providers in the listed order, not to be changed.
func (s *Set) Vendors() []*Vendor { return s.vendors }

// Names returns the providers' names in the listed order.
func (s *Set) Names() []string {
	names := make([]string, len(s.vendors))
	for i, vendor := range s.vendors {
		names[i] = vendor.name
	}
	return names
}

// Vendor returns the provider of that name, or nil.
func (s *Set) Vendor(name string) *Vendor {
	for _, vendor := range s.vendors {
		if vendor.name == name {
			return vendor
		}
	}
	return nil
}

// Sources returns the names of the providers that can supply an attribute about
// its own kind of subject, in the listed order.
func (s *Set) Sources(a enrich.Attribute) []string {
	var names []string
	for _, vendor := range s.vendors {
		if _, ok := vendor.Choose(a.Kind(), []enrich.Attribute{a}); ok {
			names = append(names, vendor.name)
		}
	}
	return names
}

// Close frees idle connections. Look-ups under way go on.
func (s *Set) Close() {
	for _, vendor := range s.vendors {
		vendor.close()
	}
}
