// Package accounts knows who asks: it finds the account of an API key or of a
// client certificate's name.
//
//	configuration --Apply--> snapshot <--ByKey, ByName-- every request
//
// Looking up takes no lock. Applying another configuration replaces the snapshot
// at once and whole; requests under way go on with the Caller they have.
package accounts

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Caller is who sent a request. What it refers to is never changed.
type Caller struct {
	// Account as the requests of the caller carry it.
	Account enrich.Account
	// Admin is the right to call the operators' methods.
	Admin bool
	// Rate bounds the account's requests in this process.
	Rate Rate
}

// Registry finds callers. It is safe for concurrent use.
type Registry struct {
	current atomic.Pointer[snapshot]
}

// snapshot is one configuration, made for looking up.
type snapshot struct {
	keys         map[digest]credential
	certificates map[string]*Caller
	accounts     map[string]*Caller
}

// credential leads to a caller until a time in Unix seconds.
type credential struct {
	caller   *Caller
	notAfter int64
}

// nobody is what an unknown key leads to: a key that has always been over.
var nobody = credential{caller: &Caller{}, notAfter: math.MinInt64}

// New makes a registry of a configuration, or returns all that is wrong with
// it.
func New(config Config) (*Registry, error) {
	r := &Registry{}
	if err := r.Apply(config); err != nil {
		return nil, err
	}
	return r, nil
}

// Apply replaces the configuration, at once and whole; on an error nothing
// changes.
func (r *Registry) Apply(config Config) error {
	if err := errors.Join(config.Validate()...); err != nil {
		return err
	}
	next := &snapshot{keys: map[digest]credential{}, certificates: map[string]*Caller{}, accounts: map[string]*Caller{}}
	for _, account := range config.WithDefaults().List {
		next.add(account)
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
		Admin: a.Admin,
		Rate:  a.Rate,
	}
	if a.Paused {
		c.Account.Providers = []string{} // none, while nil would be all
	}
	return c
}

func (s *snapshot) add(account Account) {
	caller := account.caller()
	s.accounts[account.Name] = caller
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

// ByKey returns whom an API key belongs to. For every other text, "" and a key
// that is over included, it does the same work: one hash, one look-up, one look
// at the clock. How long the look-up takes tells something about the hash at
// most, which leads nobody to a key.
func (r *Registry) ByKey(key string) (caller Caller, known bool) {
	found, known := r.current.Load().keys[digestOf(key)]
	if !known {
		found = nobody
	}
	if time.Now().Unix() >= found.notAfter {
		return Caller{}, false
	}
	return *found.caller, true
}

// ByName returns whom a name in a client's verified certificate belongs to.
func (r *Registry) ByName(name string) (caller Caller, known bool) {
	canonical, ok := canonicalName(name)
	found := r.current.Load().certificates[canonical]
	if !ok || found == nil {
		return Caller{}, false
	}
	return *found, true
}

// ByAccount returns the caller that an account's own requests have, for work
// that was accepted from it earlier.
func (r *Registry) ByAccount(name string) (caller Caller, known bool) {
	found := r.current.Load().accounts[name]
	if found == nil {
		return Caller{}, false
	}
	return *found, true
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
