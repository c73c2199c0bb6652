// Package accounts knows who asks: it finds the account of an API key or a client
// certificate, and limits how often each may ask.
//
//	configuration --Apply--> snapshot <--ByKey, ByCertificate-- every request
//
// Looking up takes no lock. Applying another configuration replaces the snapshot
// at once and whole; requests under way go on with the Caller they have.
package accounts

import (
	"crypto/x509"
	"errors"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Caller is who sent a request. It is immutable and may be kept as long as the
// request.
type Caller struct {
	// Account as the requests of the caller carry it.
	Account enrich.Account
	// Enrich and Admin are the services it may call.
	Enrich bool
	Admin  bool

	limiter *limiter
	began   time.Time // of the registry's clock
}

// Take counts n requests, the items of a batch each, against the account's
// rate in this process, or refuses them all.
func (c *Caller) Take(n int) Allowance {
	if c.limiter == nil {
		return Allowance{OK: true}
	}
	return c.limiter.take(int64(time.Since(c.began)), int64(n))
}

// Registry finds callers. It is safe for concurrent use.
type Registry struct {
	began    time.Time
	applying sync.Mutex
	current  atomic.Pointer[snapshot]
}

// snapshot is one configuration, made for looking up.
type snapshot struct {
	keys         map[digest]credential
	certificates map[string]*Caller
	names        map[string]*Caller
}

// credential leads to a caller until a time in Unix seconds.
type credential struct {
	caller   *Caller
	notAfter int64
}

// nobody is what an unknown key leads to: a key that has always been over.
var nobody = credential{notAfter: math.MinInt64}

// errKey is the one answer to a key that is missing, malformed, unknown or over,
// errCertificate that to a certificate.
var (
	errKey = &enrich.Error{
		Kind: enrich.Unauthenticated, Reason: "api_key", Offset: -1,
		Message: "a valid API key is needed, as Authorization: Bearer or x-api-key",
	}
	errCertificate = &enrich.Error{
		Kind: enrich.Unauthenticated, Reason: "certificate", Offset: -1,
		Message: "no account has the client certificate's name",
	}
)

// New makes a registry of a configuration, or returns all that is wrong with
// it.
func New(config Config) (*Registry, error) {
	r := &Registry{began: time.Now()}
	r.current.Store(&snapshot{})
	if err := r.Apply(config); err != nil {
		return nil, err
	}
	return r, nil
}

// Apply replaces the configuration, at once and whole; on an error nothing
// changes. An account that stays has asked as often as before, also when its
// rate changes.
func (r *Registry) Apply(config Config) error {
	if err := errors.Join(config.Validate()...); err != nil {
		return err
	}
	r.applying.Lock()
	defer r.applying.Unlock()
	now := int64(time.Since(r.began))
	old := r.current.Load()
	next := &snapshot{keys: map[digest]credential{}, certificates: map[string]*Caller{}, names: map[string]*Caller{}}
	for _, account := range config.WithDefaults().List {
		caller := account.caller()
		caller.began = r.began
		if before := old.names[account.Name]; before != nil {
			caller.limiter = caller.limiter.inherit(before.limiter, now)
		}
		next.add(account, caller)
	}
	r.current.Store(next)
	return nil
}

// caller is what a request of the account carries.
func (a Account) caller() *Caller {
	c := &Caller{
		Account: enrich.Account{
			Name:                a.Name,
			Attributes:          a.Attributes,
			Providers:           a.Providers,
			Weight:              a.Weight,
			RoleAddresses:       a.RoleAddresses,
			DisposableAddresses: a.DisposableAddresses,
			Lanes:               a.Lanes,
			Purposes:            a.Purposes,
			Plan:                a.Plan,
			Trial:               enrich.Trial(a.Trial),
			Shadow:              enrich.Shadow(a.Shadow),
		},
		Enrich:  slices.Contains(a.Scopes, ScopeEnrich),
		Admin:   slices.Contains(a.Scopes, ScopeAdmin),
		limiter: newLimiter(a.Rate),
	}
	if a.Paused {
		c.Account.Providers = []string{} // none, while nil would be all
	}
	return c
}

func (s *snapshot) add(account Account, caller *Caller) {
	s.names[account.Name] = caller
	for _, key := range account.Keys {
		hash, err := parseHash(key.Hash)
		if err != nil {
			continue // Validate has refused it
		}
		notAfter := int64(math.MaxInt64)
		if !key.NotAfter.IsZero() {
			notAfter = key.NotAfter.Unix()
		}
		s.keys[hash] = credential{caller: caller, notAfter: notAfter}
	}
	for _, name := range account.Certificates {
		if canonical, ok := canonicalName(name); ok {
			s.certificates[canonical] = caller
		}
	}
}

// ByKey returns the caller with an API key. Every other text, "" included, has
// the same error after the same work: one hash, one look-up, one look at the
// clock. How long the look-up takes tells something about the hash at most,
// which leads nobody to a key.
func (r *Registry) ByKey(key string) (*Caller, error) {
	found, known := r.current.Load().keys[digestOf(key)]
	if !known {
		found = nobody
	}
	if time.Now().Unix() >= found.notAfter {
		return nil, errKey
	}
	return found.caller, nil
}

// ByCertificate returns the caller with a client certificate, which must have
// been verified. A certificate whose names lead to several accounts is refused,
// like nil and one that leads to none.
func (r *Registry) ByCertificate(certificate *x509.Certificate) (*Caller, error) {
	var found *Caller
	known := r.current.Load().certificates
	for _, name := range namesOf(certificate) {
		caller := known[name]
		if caller != nil && found != nil && caller != found {
			return nil, errCertificate
		}
		if caller != nil {
			found = caller
		}
	}
	if found == nil {
		return nil, errCertificate
	}
	return found, nil
}

// ByName returns the caller that an account's own requests have, for work that
// was accepted earlier.
func (r *Registry) ByName(name string) (*Caller, bool) {
	caller, ok := r.current.Load().names[name]
	return caller, ok
}

// namesOf are the canonical names of a certificate. The common name counts only
// where there is no other (RFC 9525, section 2).
func namesOf(certificate *x509.Certificate) (names []string) {
	if certificate == nil {
		return nil
	}
	for _, uri := range certificate.URIs {
		names = append(names, uri.String())
	}
	hosts := certificate.DNSNames
	if len(hosts)+len(certificate.URIs)+len(certificate.EmailAddresses)+len(certificate.IPAddresses) == 0 {
		hosts = []string{certificate.Subject.CommonName}
	}
	for _, host := range hosts {
		if canonical, ok := canonicalName(host); ok && !strings.Contains(host, "://") {
			names = append(names, canonical)
		}
	}
	return names
}

// canonicalName is the form in which names are compared: host names in lower
// case, URIs as url.URL prints them.
func canonicalName(name string) (canonical string, ok bool) {
	if strings.Contains(name, "://") {
		parsed, err := url.Parse(name)
		if err != nil || parsed.Scheme == "" || parsed.Host == "" {
			return "", false
		}
		return parsed.String(), true
	}
	name = strings.ToLower(name)
	return name, name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}
