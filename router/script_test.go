package router

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// provider reads "acme supplies title,phone+8000 price 10000 timeout 5s".
func (s *scenario) provider(text string) error {
	words := strings.Fields(text)
	name := words[0]
	call := Call{Operation: "person", Kind: enrich.Person, Supplies: map[enrich.Attribute]Supply{}}
	var supplies string
	var confidence float64
	provider := Provider{Name: name}
	var err error
	for words = words[1:]; len(words) > 1 && err == nil; words = words[2:] {
		switch key, value := words[0], words[1]; key {
		case "supplies":
			supplies = value
		case "of":
			call.Operation, call.Kind = value, enrich.Company
		case "operation":
			call.Operation = value
		case "price":
			if call.Unpriced = value == "unknown"; call.Unpriced {
				break
			}
			var micros int
			micros, err = strconv.Atoi(value)
			call.Price = enrich.Micros(micros)
		case "confidence":
			confidence, err = strconv.ParseFloat(value, 64)
		case "timeout":
			provider.Timeout, err = time.ParseDuration(value)
		case "limit":
			amount, per, _ := strings.Cut(value, "/")
			var n int
			var window time.Duration
			n, _ = strconv.Atoi(amount)
			window, err = time.ParseDuration(per)
			s.limits[name] = append(s.limits[name], bucket(n, window))
		default:
			err = fmt.Errorf("no provider has a %q", key)
		}
	}
	for item := range strings.SplitSeq(supplies, ",") {
		attribute, extra, _ := strings.Cut(item, "+")
		of, wrong := parseAttributes(attribute, call.Kind)
		if wrong != nil {
			return wrong
		}
		micros, _ := strconv.Atoi(extra)
		call.Supplies[of[0]] = Supply{Confidence: confidence, Extra: enrich.Micros(micros)}
	}
	i := slices.IndexFunc(s.parts.Providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		v := &testVendor{name: name, free: make(chan struct{})}
		v.price = func(wanted []enrich.Attribute) enrich.Micros { return s.priceOf(name, wanted) }
		s.vendors[name] = v
		s.limits[name] = append(s.limits[name], enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 1000})
		provider.Lookup = v
		s.parts.Providers = append(s.parts.Providers, provider)
		i = len(s.parts.Providers) - 1
	}
	s.parts.Providers[i].Calls = append(s.parts.Providers[i].Calls, call)
	return err
}

// priceOf is what the vendor charges for a hit.
func (s *scenario) priceOf(name string, wanted []enrich.Attribute) (price enrich.Micros) {
	price = -1
	for _, provider := range s.parts.Providers {
		if provider.Name != name {
			continue
		}
		for _, call := range provider.Calls {
			of := call.Price
			for _, attribute := range wanted {
				supply, ok := call.Supplies[attribute]
				if !ok {
					of = 1 << 40
				}
				of += supply.Extra
			}
			if price < 0 || of < price {
				price = of
			}
		}
	}
	return price
}

// script reads "answers rate_limited wait 3s, then hit".
func (s *scenario) script(name, text string) error {
	text, ok := strings.CutPrefix(text, "answers ")
	if !ok {
		return fmt.Errorf("say what it answers")
	}
	kind := enrich.Person
	for _, provider := range s.parts.Providers {
		if provider.Name == name {
			kind = provider.Calls[0].Kind
		}
	}
	script, err := parseScript(text, kind)
	v := s.vendors[name]
	v.mu.Lock()
	defer v.mu.Unlock()
	v.script = script
	return err
}

// addAccount reads "small providers acme,bolt attributes title".
func (s *scenario) addAccount(text string) (err error) {
	words := strings.Fields(text)
	account := enrich.Account{Name: words[0]}
	for words = words[1:]; len(words) > 1 && err == nil; words = words[2:] {
		switch words[0] {
		case "providers":
			account.Providers = strings.Split(words[1], ",")
		case "attributes":
			account.Attributes, err = parseAttributes(words[1], enrich.Person)
		}
	}
	s.account[account.Name] = account
	return err
}

// ask reads "anna for title,phone within 2s lane bulk most 500 leaves 50ms".
func (s *scenario) ask(text string, meanwhile bool) error {
	words := strings.Fields(text)
	who, callers := words[0], 1
	if n, err := strconv.Atoi(who); err == nil {
		who, callers = words[1], n
		words = words[1:]
		s.concurrent = true
	}
	ask := enrich.Ask{Account: enrich.Account{Name: "sales"}}
	kind := enrich.Person
	if strings.Contains(who, ".") {
		kind = enrich.Company
	}
	within, leaves := enrich.DefaultRetryBudget, time.Duration(0)
	var wanted []enrich.Attribute
	var err error
	for words = words[1:]; len(words) > 1 && err == nil; words = words[2:] {
		switch key, value := words[0], words[1]; key {
		case "for":
			wanted, err = parseAttributes(value, kind)
		case "within":
			within, err = time.ParseDuration(value)
		case "leaves":
			leaves, err = time.ParseDuration(value)
		case "lane":
			ask.Lane = enrich.Lane(value)
		case "as":
			ask.Account = s.account[value]
		case "most":
			var micros int
			micros, err = strconv.Atoi(value)
			ask.Purse = enrich.NewPurse(enrich.Micros(micros))
		default:
			err = fmt.Errorf("nobody asks with %q", key)
		}
	}
	if err != nil {
		return err
	}
	for _, attribute := range wanted {
		ask.Needs = append(ask.Needs, enrich.Need{Attribute: attribute, Sources: s.router.Sources(enrich.Account{}, attribute)})
	}
	for i := range callers {
		name := who
		if callers > 1 {
			name = fmt.Sprintf("%s%d", who, i+1)
		}
		ask := ask
		ask.Subject = subjectOf(s.t, name)
		s.under.Go(func() { s.find(who, ask, within, leaves) })
	}
	if !meanwhile {
		s.under.Wait()
	}
	return nil
}

// newQuota keeps limits until the test ends, without a guard, whose length is not
// of interest here.
func newQuota(t testing.TB, limits map[string][]enrich.Limit) *quota.Keeper {
	keeper, err := quota.New(quota.Config{Guard: -1}, limits, quota.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keeper.Close() })
	return keeper
}

func bucket(amount int, window time.Duration) enrich.Limit {
	return enrich.Limit{Name: "bucket", Shape: enrich.TokenBucket, Amount: int64(amount), Window: window}
}

func subjectOf(t testing.TB, name string) enrich.Subject {
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(name, ".") {
		domain, err := normalizer.NormalizeDomain(name)
		if err != nil {
			t.Fatal(err)
		}
		return enrich.CompanySubject(domain)
	}
	address, err := normalizer.Normalize(name + "@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return enrich.PersonSubject(address)
}
