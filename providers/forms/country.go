package forms

import (
	"strings"

	"github.com/biter777/countries"
)

// ambiguousCountries are names of more than one country that the table settles
// for one.
var ambiguousCountries = map[string]bool{"korea": true, "congo": true, "micronesia": true, "saint martin": true}

// moreCountries are names that the table lacks.
var moreCountries = map[string]string{
	"america": "", "the united states": "US", "the united states of america": "US",
	"united kingdom of great britain and northern ireland": "GB",
	"hong kong sar china": "HK", "macao sar china": "MO", "macau sar china": "MO",
	"taiwan, province of china": "TW", "congo - brazzaville": "CG", "congo - kinshasa": "CD",
	"brasil": "BR", "españa": "ES",
	"netherlands antilles": "", "yugoslavia": "", // no longer countries
}

// usualCountries are the names and codes of the standard, which need no search
// among synonyms.
var usualCountries = func() map[string]string {
	usual := map[string]string{}
	for _, country := range countries.All() {
		code := country.Alpha2()
		for _, name := range []string{code, country.Alpha3(), country.String()} {
			if name = strings.ToLower(name); !ambiguousCountries[name] && isCurrent(country) {
				usual[name] = code
			}
		}
	}
	return usual
}()

// Country brings a country's name or code into ISO 3166-1 alpha-2. Names that
// stand for several countries are refused.
func Country(text string) (string, Verdict) {
	name := strings.ToLower(foldSpace(text))
	if code, usual := usualCountries[name]; usual {
		return code, OK
	}
	if isEmptyText(name) {
		return "", Empty
	}
	if code, ok := moreCountries[name]; ok {
		return code, verdictOfCode(code)
	}
	if ambiguousCountries[name] {
		return "", Wrong
	}
	country := countries.ByName(name)
	if country == countries.Unknown {
		country = countries.ByName(strings.TrimPrefix(name, "the "))
	}
	code := country.Alpha2()
	// The table also knows codes of vehicles, sports and the past. Of short
	// texts only the standard's own count, and the two that everybody uses.
	if len(name) <= 3 && name != "uk" && name != "uae" && !strings.EqualFold(name, code) && !strings.EqualFold(name, country.Alpha3()) {
		return "", Wrong
	}
	if !isCurrent(country) {
		return "", Wrong
	}
	return code, OK
}

// isCurrent tells whether the table's entry is a country of today.
func isCurrent(country countries.CountryCode) bool {
	code := country.Alpha2()
	return country.IsValid() && len(code) == 2 && code != "AN" && code != "YU"
}

func verdictOfCode(code string) Verdict {
	if code == "" {
		return Wrong
	}
	return OK
}
