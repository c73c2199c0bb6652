package email

import "strings"

// alias says how one provider reads a local part, as far as the provider
// documents it (dots, plus, subdomains, domains) or users agree (separators).
type alias struct {
	domain    string // the domain whose mailbox it is; "" is the domain itself
	ignore    string // characters without meaning in the local part
	plus      bool   // everything from the first plus sign on is a tag
	subdomain bool   // anything@user.domain is user@domain
}

// Sources: Google help 7436150 and 10313, Apple support 118230, Fastmail help
// 360060591053, Proton support "addresses and aliases", Yandex support "mailbox
// aliases", Microsoft's plus addressing at Outlook.com (2013). Providers that
// document nothing, or whose rule is contested (Yahoo), are left alone, and so
// are company domains, whoever runs their mail.
var aliases = func() map[string]alias {
	m := map[string]alias{
		"gmail.com":      {ignore: ".", plus: true},
		"googlemail.com": {domain: "gmail.com", ignore: ".", plus: true},

		"icloud.com": {plus: true},
		"me.com":     {domain: "icloud.com", plus: true},
		"mac.com":    {domain: "icloud.com", plus: true},
	}
	add := func(a alias, domains string) {
		for d := range strings.FieldsSeq(domains) {
			m[d] = a
		}
	}
	add(alias{plus: true}, microsoftDomains)
	add(alias{ignore: ".-_", plus: true}, "proton.me protonmail.com protonmail.ch pm.me")
	add(alias{plus: true, subdomain: true}, "fastmail.com fastmail.fm")
	add(alias{domain: "yandex.ru", plus: true}, "yandex.ru yandex.com yandex.by yandex.kz yandex.ua ya.ru")
	return m
}()

// microsoftDomains are the consumer domains of Outlook.com. Each is a name
// space of its own.
const microsoftDomains = `
	outlook.com outlook.at outlook.be outlook.cl outlook.co.id outlook.co.il outlook.co.th
	outlook.com.ar outlook.com.au outlook.com.br outlook.com.gr outlook.com.tr outlook.com.vn
	outlook.cz outlook.de outlook.dk outlook.es outlook.fr outlook.hu outlook.ie outlook.in
	outlook.it outlook.jp outlook.kr outlook.lv outlook.my outlook.ph outlook.pt outlook.sa
	outlook.sg outlook.sk
	hotmail.com hotmail.at hotmail.be hotmail.ca hotmail.ch hotmail.cl hotmail.co.id hotmail.co.il
	hotmail.co.in hotmail.co.jp hotmail.co.kr hotmail.co.nz hotmail.co.th hotmail.co.uk
	hotmail.co.za hotmail.com.ar hotmail.com.au hotmail.com.br hotmail.com.hk hotmail.com.my
	hotmail.com.ph hotmail.com.sg hotmail.com.tr hotmail.com.tw hotmail.com.vn hotmail.cz
	hotmail.de hotmail.dk hotmail.es hotmail.fi hotmail.fr hotmail.gr hotmail.hu hotmail.ie
	hotmail.it hotmail.jp hotmail.lt hotmail.lv hotmail.my hotmail.nl hotmail.no hotmail.ph
	hotmail.rs hotmail.se hotmail.sg hotmail.sk
	live.com live.at live.be live.ca live.cl live.cn live.co.in live.co.kr live.co.uk live.co.za
	live.com.ar live.com.au live.com.mx live.com.my live.com.ph live.com.pt live.com.sg live.de
	live.dk live.fi live.fr live.hk live.ie live.in live.it live.jp live.nl live.no live.ph
	live.ru live.se
	msn.com`

// fold returns the address under which the consumer profile remembers
// local@domain. It returns them unchanged for unknown domains, for quoted local
// parts, and when folding would leave nothing.
func fold(local, domain string) (foldedLocal, foldedDomain string) {
	if local[0] == '"' {
		return local, domain
	}
	a, known := aliases[domain]
	if !known {
		user, parent, _ := strings.Cut(domain, ".")
		if a = aliases[parent]; !a.subdomain || strings.HasPrefix(user, "xn--") {
			return local, domain
		}
		return user, parent
	}
	folded := local
	if a.plus {
		folded, _, _ = strings.Cut(folded, "+")
	}
	if a.ignore != "" && strings.ContainsAny(folded, a.ignore) {
		folded = strings.Map(func(r rune) rune {
			if strings.ContainsRune(a.ignore, r) {
				return -1
			}
			return r
		}, folded)
	}
	if folded == "" {
		return local, domain
	}
	if a.domain != "" {
		domain = a.domain
	}
	return folded, domain
}
