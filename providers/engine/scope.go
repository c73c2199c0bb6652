package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Scope is what requests and rules may refer to besides the answer: who is
// asked for, what is wanted, and what earlier answers said.
type Scope struct {
	// Email is the address asked for, and MailDomain its whole domain; "" for
	// a company.
	Email      string
	MailDomain string
	// Domain is the company's registrable domain, also the one of an address.
	Domain string
	// Reference is made up for this look-up, so that an answer about several
	// can be told apart. Where it is "", an answer must hold a single item.
	Reference      string
	IdempotencyKey string
	// Wanted attributes.
	Wanted []enrich.Attribute
	// Captured is what earlier answers of this look-up said, by name.
	Captured map[string]string
	// Secrets and Settings of the account, by name.
	Secrets  map[string]string
	Settings map[string]string
	// Token is the current OAuth2 access token, where the definition uses one.
	Token string
	// Now is the time of the call.
	Now time.Time
	// Fields are the vendor's names of the wanted attributes.
	Fields []string
	// Trace, if any, is told what came of expressions.
	Trace *Trace
}

func (s *Scope) wants(any []enrich.Attribute) bool {
	return slices.ContainsFunc(any, func(a enrich.Attribute) bool { return slices.Contains(s.Wanted, a) })
}

// variable is a reference to something in a Scope, as "$email" in a definition.
type variable string

// Prefixes of variables that have a name of the definition's own.
const (
	secretPrefix  = "secret."
	settingPrefix = "setting."
)

// fixedVariables exist in every definition.
var fixedVariables = []variable{"email", "local", "mail_domain", "domain", "reference", "idempotency_key", "fields"}

// in returns the value of the variable, "" when it is not set.
func (v variable) in(s *Scope) string {
	switch v {
	case "email":
		return s.Email
	case "local":
		return strings.TrimSuffix(s.Email, "@"+s.MailDomain)
	case "mail_domain":
		return s.MailDomain
	case "domain":
		return s.Domain
	case "reference":
		return s.Reference
	case "idempotency_key":
		return s.IdempotencyKey
	case "fields":
		return strings.Join(s.Fields, ",")
	case "token":
		return s.Token
	}
	if name, is := strings.CutPrefix(string(v), secretPrefix); is {
		return s.Secrets[name]
	}
	if name, is := strings.CutPrefix(string(v), settingPrefix); is {
		return s.Settings[name]
	}
	return s.Captured[string(v)]
}
