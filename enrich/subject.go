package enrich

import "github.com/enrichd/enrichd/email"

// SubjectKind is what a subject is.
type SubjectKind int

// The kinds of subject.
const (
	Person  SubjectKind = iota // looked up by a normalized e-mail address
	Company                    // looked up by a registrable domain
)

// String returns "person" or "company".
func (k SubjectKind) String() string {
	if k == Company {
		return "company"
	}
	return "person"
}

// Subject is what is looked up. Only the normalizer can build the address or
// domain inside it, so no cache or vendor ever sees a raw cell.
type Subject struct {
	kind    SubjectKind
	address email.Address
	domain  email.Domain
}

// PersonSubject is the person behind an address.
func PersonSubject(address email.Address) Subject { return Subject{kind: Person, address: address} }

// CompanySubject is the company behind a domain.
func CompanySubject(domain email.Domain) Subject { return Subject{kind: Company, domain: domain} }

// Kind tells whether the subject is a person or a company.
func (s Subject) Kind() SubjectKind { return s.kind }

// Address is the person's address; zero for a company.
func (s Subject) Address() email.Address { return s.address }

// Domain is the company's registrable domain; zero for a person.
func (s Subject) Domain() email.Domain { return s.domain }

// Key is the identity of the subject in caches and flights.
func (s Subject) Key() email.Key {
	if s.kind == Company {
		return s.domain.Key()
	}
	return s.address.Key()
}
