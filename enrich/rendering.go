package enrich

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/enrichd/enrichd/email"
)

// Renderings keep answers in the form in which they were sent, for as long as
// memory says the same about their subjects. Making the message of an answer
// costs several times what everything else about a hit in memory costs.
type Renderings interface {
	// Terms are those on which what is recalled from now on may be told, at the
	// earliest.
	Terms() any
	// Rendering returns what was kept of the answer to a question, and the glance
	// at which it was made.
	Rendering(question Fingerprint) (Rendering, Glance, bool)
	// Holds tells whether memory knows what it knew at a glance. It counts as a
	// recall of the subjects from memory.
	Holds(ctx context.Context, glance Glance) bool
	// KeepRendering keeps it until the given time at most, if memory still knows
	// what it knew at the glance and nobody of whom it tells was erased since.
	KeepRendering(ctx context.Context, glance Glance, question Fingerprint, rendering Rendering, about About, until time.Time)
}

// Glance stands for what memory knew at one moment. Two that are equal knew the
// same.
type Glance struct {
	Person, Company any // the Recalled.Seen of each, nil where none is meant
	Terms           any // on which it may be told
}

// Fingerprint stands for a question, its form included.
type Fingerprint [2]uint64

// Rendering is an answer in one form, with what is told about it whenever it is
// sent.
type Rendering struct {
	// Sent is the answer. It is not to be changed.
	Sent []byte
	// Saved is what its facts once cost.
	Saved Micros
	// Audit is what the auditor is told; nil without one.
	Audit *AuditEntry

	of rendered
	// asked is the address and the domain as the caller wrote them. It lies behind
	// Sent, so that the garbage collector has one thing less to look at.
	asked       []byte
	lengthEmail int
}

// Size is how many bytes it takes.
func (r *Rendering) Size() int { return len(r.Sent) + len(r.asked) }

// rendered is what a rendering was made of, beside the question and what memory
// knew.
type rendered struct {
	config       *Config
	suppressions uint64 // the edition of the list
}

// About are the keys of the person and the company of whom an answer tells
// something, the zero key for nobody: an address is told although nothing is
// asked about the person behind it.
type About [2]email.Key

// RenderedForm is how an answer is rendered.
type RenderedForm byte

// The forms.
const (
	RenderedProto  RenderedForm = 'p' // a message of the contract
	RenderedJSON   RenderedForm = 'j' // the same as JSON
	RenderedZipped RenderedForm = 'z' // the same as JSON for who accepts gzip
)

// Recital is a request whose answer may have been rendered before. The zero
// Recital was not, and keeps nothing.
type Recital struct {
	// Sent is the rendered answer; nil when there is none and Enrich must be
	// asked.
	Sent []byte
	// Saved is what the facts of the answer once cost.
	Saved Micros

	service       *Service
	email, domain string
	question      Fingerprint
	of            rendered
}

// keepsake is what an answer must know of how it was made for its rendering to
// be kept.
type keepsake struct {
	glance Glance
	about  About
	until  time.Time
	audit  *AuditEntry
}

// seeds of the two halves of fingerprints.
var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// Recite answers a request from what was rendered when it was asked before, if
// all that is known is still the same. It refuses nothing: whatever it cannot
// answer is for Enrich.
func (s *Service) Recite(ctx context.Context, request Request, form RenderedForm) Recital {
	if s.Renderings == nil || request.Cache != CacheDefault || request.MaxAge != 0 || request.IdempotencyKey != "" || request.Account.Shadow != (Shadow{}) {
		return Recital{}
	}
	if _, err := request.lane(); err != nil {
		return Recital{}
	}
	edition, err := s.suppressions().Edition()
	if err != nil {
		return Recital{}
	}
	now, print := rendered{config: s.config(), suppressions: edition}, request.fingerprint(form)
	// Normalizing an address and naming its subjects to the cache would be half
	// of the work here: a rendering knows what they were for the same text.
	rendering, glance, kept := s.Renderings.Rendering(print)
	if kept && rendering.of == now && rendering.answers(&request) && s.Renderings.Holds(ctx, glance) {
		s.auditRecital(&rendering, &request)
		return Recital{Sent: rendering.Sent, Saved: rendering.Saved}
	}
	return Recital{service: s, email: request.Email, domain: request.Domain, question: print, of: now}
}

// answers tells whether the caller has written what the rendering answers.
func (r *Rendering) answers(request *Request) bool {
	return string(r.asked[:r.lengthEmail]) == request.Email && string(r.asked[r.lengthEmail:]) == request.Domain
}

func (s *Service) auditRecital(rendering *Rendering, request *Request) {
	if rendering.Audit == nil || s.Auditor == nil {
		return
	}
	entry := *rendering.Audit
	entry.At, entry.RequestID, entry.Consent = time.Now().Truncate(time.Millisecond), request.ID, request.Consent
	s.Auditor.Audit(entry)
}

// reticent tells whether one of the subjects must not be told about, or nobody
// knows whether it may.
func (s *Service) reticent(about *About) bool {
	for _, key := range about {
		if suppressed, err := s.suppressions().Suppressed(key); suppressed || err != nil {
			return true
		}
	}
	return false
}

// Keeps tells whether an answer of Enrich to the same request can be kept: it
// came from memory alone, and nothing about it was asked of providers.
func (r *Recital) Keeps(answer *Answer) bool { return r.service != nil && answer.keepsake != nil }

// Keep keeps what such an answer was rendered to, if memory still says the same
// and all that it tells of may still be told about.
func (r *Recital) Keep(ctx context.Context, answer *Answer, sent []byte) {
	made := answer.keepsake
	if r.service.reticent(&made.about) {
		return
	}
	all := make([]byte, 0, len(sent)+len(r.email)+len(r.domain))
	all = append(append(append(all, sent...), r.email...), r.domain...)
	rendering := Rendering{
		Sent: all[:len(sent):len(sent)], asked: all[len(sent):], lengthEmail: len(r.email),
		Saved: answer.Saved(), Audit: made.audit, of: r.of,
	}
	r.service.Renderings.KeepRendering(ctx, made.glance, r.question, rendering, made.about, made.until)
}

// keepsake is what the question's answer must know for its rendering to be kept,
// nil when it must not be.
func (q *question) keepsake(audit *AuditEntry) *keepsake {
	until := q.holdsUntil()
	if until.IsZero() {
		return nil
	}
	return &keepsake{
		glance: Glance{Person: q.person.seen, Company: q.company.seen, Terms: q.terms},
		about:  About{q.person.key, q.company.key}, until: until, audit: audit,
	}
}

// fingerprint stands for all that an answer depends on beside what is known of
// its subjects and the configuration: what the caller typed, for answers tell
// what was repaired, and what the account may see.
func (r *Request) fingerprint(form RenderedForm) Fingerprint {
	var usual [256]byte // on the stack
	all := append(usual[:0], byte(form), byte(r.Account.Trial.Percent))
	for _, text := range [...]string{r.Email, r.Domain, r.Purpose, r.Account.Name, r.Account.Plan, r.Account.Trial.Plan} {
		all = appendText(all, text)
	}
	forPurpose, permitted := r.Account.Purposes[r.Purpose]
	for _, list := range [...][]Attribute{r.Wanted, r.Account.Attributes, forPurpose} {
		all = binary.AppendUvarint(all, uint64(len(list)))
		for _, attribute := range list {
			all = append(all, byte(1+PlaceOf(attribute))) // 0: unknown, which has no answer
		}
	}
	all = binary.AppendUvarint(all, uint64(len(r.Account.Providers)))
	for _, provider := range r.Account.Providers {
		all = appendText(all, provider)
	}
	for _, is := range [...]bool{r.Account.RoleAddresses, r.Account.DisposableAddresses, r.Account.Attributes == nil,
		r.Account.Providers == nil, len(r.Account.Purposes) > 0, forPurpose == nil, permitted} {
		all = strconv.AppendBool(all, is)
	}
	return Fingerprint{maphash.Bytes(seeds[0], all), maphash.Bytes(seeds[1], all)}
}

// appendText appends a text so that its end can be told.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// holdsUntil is until when the same question has the same answer unless memory
// learns something; zero when providers were asked, or are to be.
func (q *question) holdsUntil() time.Time {
	// The next day has another idempotency key.
	until := q.now.UTC().Truncate(day).Add(day)
	for _, h := range []*half{&q.person, &q.company} {
		switch {
		case h.suppressed:
			return time.Time{}
		case len(h.wanted) == 0:
			continue
		case !h.settled || h.found.tier != MemoryTier || len(h.found.attempts) > 0:
			return time.Time{}
		}
		for _, facts := range h.found.record.along(h.wanted) {
			for i := range facts {
				for _, change := range q.config.Freshness.changes(&facts[i], q.soon()) {
					if change.After(q.now) && change.Before(until) {
						until = change
					}
				}
			}
		}
	}
	return until
}

// changes are the moments at which a fact's worth can change, the share of its
// life included within which it is soon to be stale.
func (f Freshness) changes(fact *Fact, soon float64) [3]time.Time {
	switch fact.State {
	case StateValue:
		life := f.freshFor(fact.Attribute)
		return [3]time.Time{fact.FetchedAt.Add(life - time.Duration(soon*float64(life))), fact.FetchedAt.Add(life), f.keepUntil(fact)}
	case StateSuppressed:
		return [3]time.Time{fact.FetchedAt.Add(f.AbsentEverywhere), fact.FetchedAt.Add(f.SuppressedFor)}
	default:
		return [3]time.Time{fact.FetchedAt.Add(f.AbsentEverywhere), fact.FetchedAt.Add(f.AbsentAtOne)}
	}
}
