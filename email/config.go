package email

import (
	"errors"
	"fmt"
	"strings"
)

// Config is the normalizer's part of the configuration. Its zero value is the
// recommended behaviour, so every field may be left out.
type Config struct {
	// Fold chooses what the keys of the caches merge: "none" (default) keeps
	// every address apart, "consumer" treats the documented aliases of the large
	// mail providers (Gmail dots, plus tags and the like) as one person. Changing
	// it makes remembered facts about folded addresses unreachable, so they are
	// bought again. Addresses and idempotency keys are never folded.
	Fold Profile `yaml:"fold"`

	// RefuseEAI refuses local parts that are not ASCII (RFC 6531) as
	// local_unicode. Default false: safe ones are accepted and flagged.
	RefuseEAI bool `yaml:"refuse_eai"`

	// AcceptQuotedLocal accepts local parts that need their quotes, such as
	// "john doe"@example.com, in the shortest quoted form. Default false: they
	// are refused as local_quoted, because hardly any vendor or CRM takes them.
	AcceptQuotedLocal bool `yaml:"accept_quoted_local"`

	// DecodeObfuscated reads "john (at) example (dot) com" as an address.
	// Default false: such text was scraped rather than given, so it is refused
	// as obfuscated.
	DecodeObfuscated bool `yaml:"decode_obfuscated"`

	// SingleExtract accepts the only address among plain words ("call
	// john@example.com today"). Default false: refused as ambiguous, because
	// the words may belong to the address.
	SingleExtract bool `yaml:"single_extract"`

	// AcceptPlaceholders accepts addresses that people type to get past a form,
	// such as none@none.com. Default false: refused as placeholder, because a
	// lookup costs money and can return a stranger.
	AcceptPlaceholders bool `yaml:"accept_placeholders"`

	// TLDCheck says what happens to top-level domains that the built-in public
	// suffix list does not know: "error" (default) refuses them as tld_unknown,
	// "warn" accepts them, which "enrichd normalize" shows as unknown_tld, "off"
	// does not look.
	TLDCheck TLDCheck `yaml:"tld_check"`

	// TLDAllow names top-level domains to accept although the built-in list,
	// which is as old as this program, lacks them. Without a dot, A-labels or
	// Unicode. Default none.
	TLDAllow []string `yaml:"tld_allow"`

	// ReservedOK names special-use top-level domains to accept, for test
	// systems: "test", "local", "localhost", "invalid", "internal", "onion",
	// "arpa", "alt". Default none: they are refused as domain_reserved.
	ReservedOK []string `yaml:"reserved_ok"`

	// Free lists domains that hand out mailboxes to anybody; no company is
	// looked up for them.
	Free List `yaml:"free"`

	// Disposable lists domains that hand out throw-away mailboxes; nothing is
	// looked up for them unless the account allows it.
	Disposable List `yaml:"disposable"`

	// Role lists local parts that name a function rather than a person; no
	// person is looked up for them unless the account allows it.
	Role List `yaml:"role"`
}

// List says where the entries of one list come from. The zero value is the
// built-in list alone.
type List struct {
	// Files are plain text files with one entry a line; blank lines and
	// everything after a # are ignored. They add to the built-in list and are
	// read once, when the normalizer is built; relative paths start at the
	// working directory. Default none.
	Files []string `yaml:"files"`

	// Except names entries to leave out, whichever list they stand in. Default
	// none.
	Except []string `yaml:"except"`

	// OnlyFiles leaves the built-in list out. Default false.
	OnlyFiles bool `yaml:"only_files"`
}

// TLDCheck says what happens to unknown top-level domains.
type TLDCheck string

// The empty TLDCheck means TLDError.
const (
	TLDError TLDCheck = "error"
	TLDWarn  TLDCheck = "warn"
	TLDOff   TLDCheck = "off"
)

// Validate reports every problem at once, each naming its field. Files are
// read by [New], not here.
func (c Config) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	switch c.Fold {
	case "", ProfileNone, ProfileConsumer:
	default:
		add("fold: %q is not one of none, consumer", string(c.Fold))
	}
	switch c.TLDCheck {
	case "", TLDError, TLDWarn, TLDOff:
	default:
		add("tld_check: %q is not one of error, warn, off", string(c.TLDCheck))
	}
	for i, tld := range c.TLDAllow {
		if _, ok := asciiLabel(tld); !ok {
			add("tld_allow[%d]: %q is not a top-level domain", i, tld)
		}
	}
	if len(c.TLDAllow) > 0 && c.TLDCheck == TLDOff {
		add("tld_allow: has no effect while tld_check is off")
	}
	for i, tld := range c.ReservedOK {
		if !specialUse(strings.ToLower(strings.TrimPrefix(tld, "."))) {
			add("reserved_ok[%d]: %q is not a special-use domain", i, tld)
		}
	}
	for _, l := range []struct {
		field string
		list  List
	}{{"free", c.Free}, {"disposable", c.Disposable}, {"role", c.Role}} {
		for i, f := range l.list.Files {
			if strings.TrimSpace(f) == "" {
				add("%s.files[%d]: the path is empty", l.field, i)
			}
		}
		for i, e := range l.list.Except {
			if strings.TrimSpace(e) == "" {
				add("%s.except[%d]: the entry is empty", l.field, i)
			}
		}
		if l.list.OnlyFiles && len(l.list.Files) == 0 {
			add("%s.only_files: needs at least one entry in %s.files", l.field, l.field)
		}
	}
	return errors.Join(problems...)
}
