package email

// Profile says which addresses share one key.
type Profile string

// The empty Profile means ProfileNone.
const (
	ProfileNone     Profile = "none"     // every address has its own key
	ProfileConsumer Profile = "consumer" // aliases documented by large mail providers share a key
)

// Each key begins with the version of the rules behind it. It changes with
// them, so that what was remembered under old rules becomes unreachable instead
// of wrong. Keys of companies have a version of their own and can never equal
// the key of an address.
const (
	addressKeyVersion = "e1"
	domainKeyVersion  = "d1"
)

// Key names an address or a company in caches. Only a [Normalizer] makes what
// it is made from, so nothing that was not normalized can be remembered. The
// zero value is no key.
//
// A Key prints, logs and encodes as "[address]". It cannot be compared with ==;
// compare or hash what Reveal returns.
type Key struct {
	_ [0]func()
	redacted
	f sealed
}

// Key returns the key under which facts about the address are remembered,
// folded if the normalizer's profile says so.
func (a Address) Key() Key { return Key{f: a.f} }

// Key returns the key under which facts about the company are remembered.
func (d Domain) Key() Key {
	if d.IsZero() {
		return Key{}
	}
	key := domainKeyVersion + ":" + d.name
	return Key{f: seal(facts{key: key, text: key[len(key)-len(d.name):], at: noAt})}
}

// keyText is the text of the key of an address, for whoever asks for it often.
func keyText(profile Profile, whole string, at int) string {
	if profile == ProfileConsumer {
		local, domain := fold(whole[:at], whole[at+1:])
		return addressKeyVersion + ":" + string(ProfileConsumer) + ":" + local + "@" + domain
	}
	return addressKeyVersion + ":" + string(ProfileNone) + ":" + whole
}

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k.f == nil }

// Reveal returns the key's text: "e1:" profile ":" address, the address folded
// as the profile says, or "d1:" domain. That of an address is personal data:
// hash it before it leaves the process. The zero Key has "".
func (k Key) Reveal() string {
	if k.f == nil {
		return ""
	}
	return (*k.f).key
}

// Forms returns what the key stands for whatever the profile is: the exact
// address, and the one that the consumer profile folds it to, which is the same
// where there is nothing to fold. Of a company both are the domain. What must
// outlive a change of the profile or of the keys' version is remembered under
// both. An address is personal data: hash it before it leaves the process. The
// zero Key has "".
func (k Key) Forms() (exact, folded string) {
	if k.f == nil {
		return "", ""
	}
	f := *k.f
	if f.at == noAt {
		return f.text, f.text
	}
	local, domain := fold(f.text[:f.at], f.text[f.at+1:])
	return f.text, local + "@" + domain
}
