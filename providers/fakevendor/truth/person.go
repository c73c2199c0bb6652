package truth

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The labels of a person's rolls.
var (
	rollFirst    = of("first")
	rollLast     = of("last")
	rollPost     = of("post")
	rollStatus   = of("status")
	rollMobile   = of("mobile")
	rollHome     = of("home")
	rollHandle   = of("handle")
	rollEmployer = of("employer")
)

// Person returns the truth about the holder of an address, and false when the
// address belongs to no person: a shared mailbox such as info@.
func (w World) Person(address string) (Person, bool) {
	address = Fold(address)
	domain := DomainOf(address)
	local := strings.TrimSuffix(address, "@"+domain)
	d := newDice(w.Seed, "person", address)
	p := Person{Address: address, EmailStatus: w.status(d, local, domain)}
	if sharedMailboxes[local] {
		return p, false
	}
	if freeMail[domain] {
		domain = pick(d, rollEmployer, employers)
	}
	p.Employer = w.Company(domain)
	p.CompanyName, p.CompanyDomain = p.Employer.Name, p.Employer.Domain
	p.FirstName, p.LastName = nameFrom(d, local)
	p.FullName = p.FirstName + " " + p.LastName
	post := pick(d, rollPost, posts)
	p.Title, p.Seniority, p.Department = post.title, post.seniority, post.department
	place := w.home(d, p.Employer)
	p.Place = place.Place
	p.Phone = place.phone(d.roll(rollPhone))
	p.MobilePhone = place.mobile(d.roll(rollMobile))
	p.LinkedIn = fmt.Sprintf("%s-%04x", handle(p.FullName), d.roll(rollHandle)&0xffff)
	return p, true
}

// home is where a person lives: mostly where the employer is.
func (w World) home(d dice, employer Company) place {
	if d.share(rollHome) < 0.8 {
		for _, p := range places {
			if p.Place == employer.Place {
				return p
			}
		}
	}
	return pick(d, rollPlace, places)
}

// status is whether mail to the address arrives.
func (w World) status(d dice, local, domain string) string {
	switch {
	case disposable[domain]:
		return "disposable"
	case sharedMailboxes[local]:
		return "role"
	case newDice(w.Seed, "mail", domain).share(rollStatus) < 0.08 && !freeMail[domain]:
		return "accept_all"
	}
	switch share := d.share(rollStatus); {
	case share < 0.06:
		return "invalid"
	case share < 0.10:
		return "unknown"
	}
	return "valid"
}

// nameFrom reads a name from the local part where it looks like one
// (ada.north, a.north, ada), and invents what it does not say.
func nameFrom(d dice, local string) (first, last string) {
	local, _, _ = strings.Cut(local, "+")
	parts := strings.FieldsFunc(local, func(r rune) bool { return r == '.' || r == '_' || r == '-' })
	kept := parts[:0]
	for _, part := range parts {
		if part = strings.TrimRight(part, "0123456789"); part != "" && letters(part) {
			kept = append(kept, part)
		}
	}
	first, last = pick(d, rollFirst, firstNames), pick(d, rollLast, lastNames)
	switch {
	case len(kept) >= 2:
		if utf8.RuneCountInString(kept[0]) > 1 {
			first = title(kept[0])
		} else {
			first = startingWith(d, kept[0], first)
		}
		if end := kept[len(kept)-1]; utf8.RuneCountInString(end) > 1 {
			last = title(end)
		}
	case len(kept) == 1 && len(kept[0]) >= 3 && len(kept[0]) <= 12:
		first = title(kept[0])
	}
	return first, last
}

// startingWith picks an invented first name with the given initial.
func startingWith(d dice, initial, otherwise string) string {
	var fitting []string
	for _, name := range firstNames {
		if strings.EqualFold(name[:1], initial) {
			fitting = append(fitting, name)
		}
	}
	if len(fitting) == 0 {
		return otherwise
	}
	return pick(d, rollFirst, fitting)
}

func letters(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// title writes a word with a capital first letter.
func title(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToTitle(first)) + word[size:]
}
