package forms

import (
	"strings"
	"unicode"

	"github.com/biter777/countries"
)

// ambiguousCountries are names of more than one country, or of a continent,
// that the table settles for one. In letters alone.
var ambiguousCountries = map[string]bool{
	"america": true, "congo": true, "korea": true, "saintmartin": true, "stmartin": true, "theamericas": true, "virginislands": true,
}

// moreCountries are names that the table lacks, with brackets written as a
// comma.
var moreCountries = map[string]string{
	"bahamas, the": "BS", "gambia, the": "GM", "the united states": "US", "the united states of america": "US",
	"united kingdom of great britain and northern ireland": "GB", "republic of ireland": "IE", "ireland, republic of": "IE",
	"korea, south": "KR", "korea, north": "KP", "korea, the republic of": "KR", "korea, the democratic people's republic of": "KP",
	"china, people's republic of": "CN", "people's republic of china": "CN", "mainland china": "CN", "pr china": "CN",
	"hong kong sar": "HK", "hong kong sar china": "HK", "hong kong, china": "HK", "macao sar china": "MO", "macau sar china": "MO",
	"taiwan, province of china": "TW", "taiwan, china": "TW", "china, taiwan": "TW",
	"congo - brazzaville": "CG", "congo, brazzaville": "CG", "republic of the congo": "CG", "congo, republic of the": "CG",
	"congo - kinshasa": "CD", "congo, kinshasa": "CD", "congo, democratic republic of": "CD",
	"venezuela, bolivarian republic of": "VE", "palestine, state of": "PS", "slovak republic": "SK", "kingdom of saudi arabia": "SA",
	"turkiye": "TR", "fyrom": "MK", "myanmar, burma": "MM", "falkland islands, malvinas": "FK", "great britain, uk": "GB",
	"trinidad and tobago": "TT", "russian fed.": "RU",
	"belgique": "BE", "belgië": "BE", "brasil": "BR", "españa": "ES", "italia": "IT", "méxico": "MX", "nederland": "NL", "norge": "NO",
	"perú": "PE", "polska": "PL", "suomi": "FI", "sverige": "SE",
}

// usualCountries are the names and codes of the standard, which need no search
// among synonyms.
var usualCountries = func() map[string]string {
	usual := map[string]string{}
	for _, country := range countries.All() {
		code := country.Alpha2()
		for _, name := range []string{code, country.Alpha3(), country.String()} {
			if name = strings.ToLower(name); !ambiguousCountries[name] && !strings.Contains(name, "(") && isCurrent(country) {
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
	// The table overlooks what is in brackets, though it tells the Koreas apart.
	name = strings.NewReplacer(" (the)", "", " (", ", ", "(", ", ", ")", "", " & ", " and ", "’", "'").Replace(name)
	if code, known := moreCountries[name]; known {
		return code, OK
	}
	if code, usual := usualCountries[name]; usual {
		return code, OK
	}
	letters := lettersOf(name)
	if ambiguousCountries[letters] {
		return "", Wrong
	}
	country := countries.ByName(name)
	if country == countries.Unknown {
		name = strings.TrimPrefix(name, "the ")
		country = countries.ByName(name)
	}
	// The table also knows codes of vehicles, sports and the past. Of short
	// texts only the standard's own count, and the two that everybody uses.
	code := country.Alpha2()
	isCode := strings.EqualFold(letters, code) || strings.EqualFold(letters, country.Alpha3()) || letters == "uk" || letters == "uae"
	if ambiguousCountries[lettersOf(name)] || !isCurrent(country) || len(letters) <= 3 && !isCode {
		return "", Wrong
	}
	return code, OK
}

func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, text)
}

// isCurrent tells whether the table's entry is a country of today.
func isCurrent(country countries.CountryCode) bool {
	code := country.Alpha2()
	return country.IsValid() && len(code) == 2 && code != "AN" && code != "YU"
}
