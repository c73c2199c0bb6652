package enrich

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/email"
)

// question is an understood request.
type question struct {
	config         *Config // that holds for this request
	account        Account
	address        email.Address // zero for a domain
	domain         email.Domain  // zero without a company to look up
	person         half
	company        half
	wanted         []Attribute
	notAsked       map[Attribute]string // wanted, but nobody is asked, and why
	named          bool                 // the caller named the attributes
	lane           Lane
	deadline       time.Time // the end of the time budget
	maxAge         time.Duration
	purse          *Purse
	cache          CachePolicy
	idempotencyKey string
	id             string
	purpose        string
	consent        Consent
	now            time.Time // to the millisecond, as the times of facts
	terms          any       // on which what is recalled may be told
	landed         *landed   // the flights of the batch that the request is of; nil: of none
}

// half is one of the two subjects of a question and what has become of it. It
// belongs to the goroutine that answers; flights have copies of the part.
type half struct {
	part
	suppressed bool // it must not be looked up
	settled    bool // nothing is missing, nor will be soon
	found      looked
	seen       any    // what memory knew of it; nil: it did not answer
	needs      []Need // what must be asked for, as the caches left it
}

// part is what is wanted about one of the two subjects.
type part struct {
	account Account // with the plan that holds for the subject
	subject Subject
	key     email.Key
	wanted  []Attribute
}

// only returns the part of what the needs want.
func (p part) only(needs []Need) part {
	narrowed := part{account: p.account, subject: p.subject, key: p.key}
	for _, need := range needs {
		narrowed.wanted = append(narrowed.wanted, need.Attribute)
	}
	return narrowed
}

// counting returns the facts that count as known: all of them, unless the
// caller wants vendors asked again.
func (q *question) counting(known Record) Record {
	if q.cache != CacheRefresh {
		return known
	}
	return known.Keep(func(fact Fact) bool { return !fact.FetchedAt.Before(q.now) })
}

// lacking tells whether the caches left something to be asked for.
func (q *question) lacking() bool { return len(q.person.needs)+len(q.company.needs) > 0 }

// understand reads a request that came now. A bad one ends here, before any cache
// or vendor sees it.
func (s *Service) understand(ctx context.Context, request Request, now time.Time) (*question, error) {
	q := &question{
		config:         s.config(),
		account:        request.Account,
		maxAge:         request.MaxAge,
		cache:          request.Cache,
		named:          len(request.Wanted) > 0,
		idempotencyKey: request.IdempotencyKey,
		id:             request.ID,
		purpose:        request.Purpose,
		consent:        request.Consent,
		now:            now.Truncate(time.Millisecond),
	}
	q.deadline = now.Add(q.config.RetryBudget)
	if request.Budget > 0 {
		q.deadline = now.Add(request.Budget)
	}
	if request.MaxCost != nil {
		q.purse = NewPurse(*request.MaxCost)
	}
	_, span := tracer.Start(ctx, "normalize")
	err := s.identify(q, request)
	span.End()
	if err != nil {
		return nil, err
	}
	if q.idempotencyKey == "" {
		q.idempotencyKey = q.defaultIdempotencyKey()
	}
	if q.lane, err = request.lane(); err != nil {
		return nil, err
	}
	if q.wanted, err = request.wanted(); err != nil {
		return nil, err
	}
	q.divide()
	if err := s.suppress(q); err != nil {
		return nil, err
	}
	if q.person.suppressed {
		q.forgetAddress()
	}
	return q, nil
}

// identify normalizes the address or domain.
func (s *Service) identify(q *question, request Request) error {
	switch {
	case request.Email != "" && request.Domain != "":
		return &Error{Kind: Invalid, Field: "subject", Reason: "too_many", Offset: -1, Message: "set either email or domain"}
	case request.Domain != "":
		domain, err := s.Normalizer.NormalizeDomain(request.Domain)
		if err != nil {
			return invalidAddress("domain", err)
		}
		q.domain = domain
	default:
		address, err := s.Normalizer.Normalize(request.Email)
		if err != nil {
			return invalidAddress("email", err)
		}
		q.address, q.domain = address, address.Registrable()
	}
	return nil
}

func invalidAddress(field string, err error) error {
	invalid := &Error{Kind: Invalid, Field: field, Reason: "syntax", Offset: -1, Message: "the " + field + " cannot be read", Cause: err}
	var unreadable *email.Error
	if errors.As(err, &unreadable) {
		invalid.Reason, invalid.Offset = string(unreadable.Class), unreadable.Offset
		invalid.Message = fmt.Sprintf("the %s cannot be read: %s", field, unreadable.Reason)
	}
	return invalid
}

// divide splits the wanted attributes between the two subjects and names those
// that nobody is asked about.
func (q *question) divide() {
	q.notAsked = map[Attribute]string{}
	q.company.wanted, q.person.wanted = byKind(q.wanted)
	noPerson, noCompany := q.barriers()
	for _, barred := range []struct {
		half   *half
		reason string
	}{{&q.person, noPerson}, {&q.company, noCompany}} {
		if barred.reason == "" {
			continue
		}
		for _, attribute := range barred.half.wanted {
			q.notAsked[attribute] = barred.reason
		}
		barred.half.wanted = nil
	}
	if !q.address.IsZero() {
		q.person.part = q.partAbout(PersonSubject(q.address), q.person.wanted)
	}
	if len(q.company.wanted) > 0 {
		q.company.part = q.partAbout(CompanySubject(q.domain), q.company.wanted)
	} else {
		q.domain = email.Domain{}
	}
}

func (q *question) partAbout(subject Subject, wanted []Attribute) part {
	return part{account: q.account.About(subject), subject: subject, key: subject.Key(), wanted: wanted}
}

// barriers are the reasons not to ask about the person and the company, empty
// without one.
func (q *question) barriers() (person, company string) {
	if q.domain.IsZero() || q.domain.Free() || q.domain.Disposable() {
		company = ReasonMailProvider
	}
	switch {
	case q.address.IsZero():
		person = ReasonNoAddress
	case q.address.Role() && !q.account.RoleAddresses:
		person = ReasonRoleAddress
	case q.address.Disposable() && !q.account.DisposableAddresses:
		person = ReasonDisposableAddress
	}
	return person, company
}

// defaultIdempotencyKey is of the normalized address, or of the domain, and the
// UTC day.
func (q *question) defaultIdempotencyKey() string {
	if !q.address.IsZero() {
		return email.IdempotencyKey(q.address, q.now)
	}
	return q.domainIdempotencyKey()
}

func (q *question) domainIdempotencyKey() string {
	sum := sha256.Sum256([]byte(q.domain.String() + ":" + q.now.UTC().Format(time.DateOnly)))
	return hex.EncodeToString(sum[:])
}

// forgetAddress keeps what is made of the address from vendors that are asked
// about its company.
func (q *question) forgetAddress() {
	if q.idempotencyKey == q.defaultIdempotencyKey() {
		q.idempotencyKey = q.domainIdempotencyKey()
	}
}
