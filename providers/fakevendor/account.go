package fakevendor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// Account is who may call a fake vendor and what it bills.
type Account struct {
	// Keys are the API keys that it accepts; each is an account with limits of
	// its own. Empty: any key, all as one account; none at all is still
	// refused.
	Keys []string `yaml:"keys"`
	// Credits is how many credits are left, shared by all keys; absent:
	// without end.
	Credits *int64 `yaml:"credits"`
	// Prices is what one credit costs, in micros of the price list's currency,
	// by operation; the published price for those left out.
	Prices map[string]int64 `yaml:"prices"`
}

const (
	mostKeys    = 10_000
	mostCredits = 1_000_000_000
)

func (a Account) validate(d *dialect) error {
	var problems []error
	if len(a.Keys) > mostKeys {
		problems = append(problems, fmt.Errorf("keys: more than %d", mostKeys))
	}
	if slices.Contains(a.Keys, "") {
		problems = append(problems, errors.New("keys: an empty key"))
	}
	if a.Credits != nil && (*a.Credits < 0 || *a.Credits > mostCredits) {
		problems = append(problems, fmt.Errorf("credits: %d is not from 0 to %d", *a.Credits, mostCredits))
	}
	for operation, price := range a.Prices {
		if !slices.Contains(d.operations(), operation) {
			problems = append(problems, fmt.Errorf("prices: %s has no operation %q but %v", d.name, operation, d.operations()))
		}
		if price < 0 || price > 1_000_000_000_000 {
			problems = append(problems, fmt.Errorf("prices: %d is no price in micros", price))
		}
	}
	return errors.Join(problems...)
}

// caller is one account: the judge of its limits, and the name under which the
// ledger knows its key.
type caller struct {
	id    string
	judge *strict.Judge
}

// keyID names an API key without giving it away.
func keyID(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

// milli is credits in thousandths: vendors sell quarters of a credit.
type milli int64

const credit milli = 1000

// purse holds a vendor's credits and, to tell duplicates and free repeats, the
// subjects that were paid for.
type purse struct {
	mu     sync.Mutex
	left   milli // -1: without end
	used   milli
	paid   map[uint64]struct{}
	bounds int
}

func newPurse(credits *int64, bounds int) *purse {
	p := &purse{bounds: bounds}
	p.fill(credits)
	return p
}

// fill sets what is left and forgets what was paid for.
func (p *purse) fill(credits *int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.used, p.paid = -1, 0, make(map[uint64]struct{})
	if credits != nil {
		p.left = milli(*credits) * credit
	}
}

// payment is what became of a charge.
type payment struct {
	refused   bool // the credits did not reach
	charged   milli
	duplicate bool // the subject had been paid for
	untracked bool // it is not known whether it had
}

// pay takes a price for a subject. A free repeat costs nothing.
func (p *purse) pay(subject uint64, price milli, repeatsFree bool) payment {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, before := p.paid[subject]
	if before && repeatsFree || price == 0 {
		return payment{}
	}
	if p.left >= 0 && p.left < price {
		return payment{refused: true}
	}
	if p.left >= 0 {
		p.left -= price
	}
	p.used += price
	done := payment{charged: price, duplicate: before}
	if !before && len(p.paid) < p.bounds {
		p.paid[subject] = struct{}{}
	} else if !before {
		done.untracked = true
	}
	return done
}

// refund gives back what was taken for a result that did not come.
func (p *purse) refund(price milli) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left >= 0 {
		p.left += price
	}
	p.used -= price
}

// balance returns the credits left, -1 for without end, and those used.
func (p *purse) balance() (left, used milli) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left, p.used
}
