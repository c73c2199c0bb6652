package email

// Profile says which addresses share one key.
type Profile string

// The empty Profile means ProfileNone.
const (
	ProfileNone     Profile = "none"     // every address has its own key
	ProfileConsumer Profile = "consumer" // aliases documented by large mail providers share a key
)

// keyVersion starts every key. It changes with the rules of this package, so
// that what was remembered under old rules becomes unreachable instead of
// wrong.
const keyVersion = "e1"

// domainKeyVersion does the same for the keys of companies.
const domainKeyVersion = "d1"

// noAt marks facts that are a company's domain rather than an address.
const noAt = -1

// Key names an address, or a company's domain, in caches. Only a [Normalizer] makes one, so nothing
// that was not normalized can be remembered. The zero value is no key.
//
// A Key prints, logs and encodes as "[address]". It cannot be compared with ==;
// compare or hash what Reveal returns.
type Key struct {
	_ [0]func()
	redacted
	f *facts
}

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k.f == nil }

// Reveal returns the key's text, "e1:" profile ":" address, with the address
// folded as the profile says. It is personal data: hash it before it leaves the
// process. The zero Key has "".
func (k Key) Reveal() string {
	if k.f == nil {
		return ""
	}
	f := k.f
	if f.at == noAt {
		return domainKeyVersion + ":" + f.text
	}
	if f.profile == ProfileConsumer {
		local, domain := fold(f.text[:f.at], f.text[f.at+1:])
		return keyVersion + ":" + string(ProfileConsumer) + ":" + local + "@" + domain
	}
	return keyVersion + ":" + string(ProfileNone) + ":" + f.text
}
