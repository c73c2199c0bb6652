package forms

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nyaruka/phonenumbers"

	"github.com/enrichd/enrichd/enrich"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// reading is one raw value and what it should become; "" stands for no value.
type reading struct {
	raw     any
	want    string
	verdict Verdict
}

func ok(raw any, want string) reading      { return reading{raw, want, OK} }
func not(raw any, verdict Verdict) reading { return reading{raw, "", verdict} }

func check(t *testing.T, a enrich.Attribute, context Context, readings ...reading) {
	t.Helper()
	spec, known := enrich.SpecOf(a)
	if !known {
		t.Fatalf("no attribute %s", a)
	}
	context.Now = now
	for _, r := range readings {
		value, verdict := Read(spec, r.raw, context)
		got := ""
		if verdict == OK {
			got = value.Text()
			if value.Form() == enrich.Number {
				got = strconv.FormatInt(value.Number(), 10)
			}
		}
		if got != r.want || verdict != r.verdict || value.IsZero() != (verdict != OK) {
			t.Errorf("%s from %#v: %q, verdict %d; want %q, verdict %d", a, r.raw, got, verdict, r.want, r.verdict)
		}
	}
}

func in(country string) func() string { return func() string { return country } }

func TestEmptiness(t *testing.T) {
	check(t, "person.title", Context{},
		not(nil, Empty), not("", Empty), not("   ", Empty), not("null", Empty), not("N/A", Empty), not("-", Empty), not("--", Empty),
		not("None", Empty), not("undefined", Empty), not("?", Empty), not([]any{}, Empty), not(map[string]any{}, Empty),
		not("Not Available", Empty), ok("Manager", "Manager"), ok("C", "C"), ok("管理者", "管理者"),
	)
}

func TestMasks(t *testing.T) {
	check(t, "person.mobile_phone", Context{}, not(true, Masked), not("+1 5**-***-****", Masked), not("+49 151 ••••", Masked))
	check(t, "person.title", Context{}, not(true, Masked), not(false, Masked), not("S***s", Masked))
	check(t, "person.seniority", Context{}, not(true, Masked))
	check(t, "company.employee_count", Context{}, not(true, Masked), not("1**", Masked))
}

func TestChangedTypesAreRefused(t *testing.T) {
	for _, spec := range enrich.Attributes() {
		if spec.Form == enrich.List {
			continue
		}
		for _, raw := range []any{map[string]any{"value": "x"}, []any{map[string]any{}, 1, 2}} {
			if value, verdict := Read(spec, raw, Context{Now: now, Currency: "USD", Country: in("DE")}); verdict != Wrong || !value.IsZero() {
				t.Errorf("%s from %v: verdict %d", spec.Attribute, raw, verdict)
			}
		}
	}
	check(t, "person.full_name", Context{}, not(17, Wrong), not(1.5, Wrong))
	check(t, "person.title", Context{}, not([]any{"Manager"}, Wrong))
}

func TestNames(t *testing.T) {
	check(t, "person.full_name", Context{},
		ok("anna weber", "Anna Weber"), ok("ANNA WEBER", "Anna Weber"), ok("Anna WEBER", "Anna WEBER"),
		ok("jan van der berg", "Jan van der Berg"), ok("LUDWIG VON BRAUN", "Ludwig von Braun"), ok("omar bin said", "Omar bin Said"),
		ok("sean o'neil", "Sean O'Neil"), ok("SEAN O’NEIL", "Sean O’Neil"), ok("Sean O'Neil", "Sean O'Neil"), ok("Ian McDonald", "Ian McDonald"),
		ok("marie-claire dupont", "Marie-Claire Dupont"), ok("j.r. smith", "J.R. Smith"), ok("josé álvarez", "José Álvarez"),
		ok("  Anna \t Weber ", "Anna Weber"), ok("王小明", "王小明"), ok("li wei 3rd", "Li Wei 3rd"), ok("JOHN SMITH III", "John Smith III"),
	)
	check(t, "person.last_name", Context{}, ok("van der berg", "Van der Berg"), ok("de", "De"), ok("WEBER", "Weber"))
}

func TestTexts(t *testing.T) {
	check(t, "person.title", Context{}, ok("  Head  of\nSales ", "Head of Sales"), ok("head of sales", "head of sales"), not(strings.Repeat("x", 600), Wrong), not("J\ufffdrg", Wrong), ok("Sen\u00adior", "Senior"))
	check(t, "person.title", Context{TitleCase: true}, ok("head of sales", "Head Of Sales"), ok("CEO", "CEO"), ok("iOS lead", "iOS lead"))
	check(t, "company.industry", Context{}, ok("Internet  Software & Services", "internet software & services"))
	check(t, "company.description", Context{},
		ok("<p>We <b>make</b> things &amp; more.</p>", "We make things & more."), ok(strings.Repeat("ä", 1200), strings.Repeat("ä", 1000)),
		ok("2 < 3 and 5 > 4", "2 < 3 and 5 > 4"), not("<br/>", Empty),
	)
}

func TestPhones(t *testing.T) {
	check(t, "person.phone", Context{},
		ok("+49 30 23125 000", "+493023125000"), ok("+49 (0)30 23125-000", "+493023125000"), ok("+44 (0)20 7946 0958", "+442079460958"),
		ok("+1 (202) 555-0143", "+12025550143"), ok("tel:+12025550143", "+12025550143"), ok("+39 06 1234 5678", "+390612345678"),
		ok("+33 1 99 00 12 34", "+33199001234"), ok("+44 7700 900123", "+447700900123"),
		not("030 23125 000", Wrong), not("(202) 555-0143", Wrong), not("+1 202 555 0143 ext. 12", Wrong), not("+1 202 555 0143 x12", Wrong),
		not("555-0143", Wrong), not("+1 000 000 0000", Wrong), not("call me", Wrong), not("+", Empty), not("+999 123", Wrong), not(12025550143, Wrong),
	)
	check(t, "person.phone", Context{Country: in("DE")}, ok("030 23125 000", "+493023125000"), ok("0049 30 23125 000", "+493023125000"), ok("+1 202 555 0143", "+12025550143"), not("12", Wrong))
	check(t, "company.phone", Context{Country: in("US")}, ok("(202) 555-0143", "+12025550143"), ok("1-202-555-0143", "+12025550143"), not("555-0143", Wrong))
	check(t, "person.mobile_phone", Context{Country: in("GB")}, ok("07700 900123", "+447700900123"), ok("(0) 7700 900123", "+447700900123"))
}

func TestLinkedIn(t *testing.T) {
	check(t, "person.linkedin_url", Context{},
		ok("https://www.linkedin.com/in/anna-weber", "https://www.linkedin.com/in/anna-weber"),
		ok("http://fr.linkedin.com/in/Anna-Weber/", "https://www.linkedin.com/in/anna-weber"),
		ok("linkedin.com/in/anna-weber?trk=x#top", "https://www.linkedin.com/in/anna-weber"),
		ok("linkedin.com/in/anna-weber/en", "https://www.linkedin.com/in/anna-weber"),
		ok("https://www.linkedin.com/in/jos%C3%A9-x", "https://www.linkedin.com/in/josé-x"),
		ok("anna-weber", "https://www.linkedin.com/in/anna-weber"), ok("in/anna-weber", "https://www.linkedin.com/in/anna-weber"),
		ok("/in/anna-weber/", "https://www.linkedin.com/in/anna-weber"),
		not("https://www.linkedin.com/pub/anna-weber/12/345/678", Wrong), not("pub/anna-weber/12/345/678", Wrong),
		not("https://www.linkedin.com/sales/lead/ABC,NAME", Wrong), not("https://www.linkedin.com/company/acme", Wrong),
		not("https://www.linkedin.com/school/acme", Wrong), not("https://www.linkedin.com/anna-weber", Wrong), not("https://www.linkedin.com", Wrong),
		not("https://example.com/in/anna", Wrong), not("https://linkedin.com.evil.example/in/anna", Wrong), not("in/", Wrong),
		not("linkedin.com/in/%zz", Wrong), not("anna weber", Wrong), not("in/anna%2F..%2Fx", Wrong),
	)
	check(t, "company.linkedin_url", Context{},
		ok("company/acme", "https://www.linkedin.com/company/acme"), ok("acme", "https://www.linkedin.com/company/acme"),
		ok("http://www.linkedin.com/company/Acme-Werke/about/", "https://www.linkedin.com/company/acme-werke"),
		not("https://www.linkedin.com/in/anna", Wrong), not("showcase/acme", Wrong), not("linkedin.com/school/acme", Wrong),
	)
}

func TestCountries(t *testing.T) {
	check(t, "person.country", Context{},
		ok("de", "DE"), ok("DEU", "DE"), ok("Germany", "DE"), ok("deutschland", "DE"), ok("United States", "US"), ok("USA", "US"), ok("U.S.A.", "US"),
		ok("united states of america", "US"), ok("UK", "GB"), ok("Great Britain", "GB"), ok("England", "GB"), ok("South Korea", "KR"),
		ok("Korea, Republic of", "KR"), ok("Czech Republic", "CZ"), ok("Côte d'Ivoire", "CI"), ok("Ivory Coast", "CI"), ok("The Netherlands", "NL"),
		ok("Viet Nam", "VN"), ok("Türkiye", "TR"), ok("Turkey", "TR"), ok("Russian Federation", "RU"), ok("Hong Kong", "HK"), ok("UAE", "AE"),
		ok("Korea (the Republic of)", "KR"), ok("Korea (Democratic People's Republic of)", "KP"), ok("Korea, South", "KR"), ok("North Korea", "KP"),
		ok("Congo (Kinshasa)", "CD"), ok("Congo (the Democratic Republic of the)", "CD"), ok("Congo - Brazzaville", "CG"), ok("Republic of the Congo", "CG"),
		ok("Virgin Islands (British)", "VG"), ok("Micronesia (Federated States of)", "FM"), ok("Iran (Islamic Republic of)", "IR"), ok("U.S.", "US"),
		ok("United States of America (the)", "US"), ok("Trinidad & Tobago", "TT"), ok("Myanmar (Burma)", "MM"), ok("Macedonia, the former Yugoslav Republic of", "MK"),
		ok("Sverige", "SE"), ok("Niger", "NE"), ok("Nigeria", "NG"), ok("Guinea", "GN"), ok("Equatorial Guinea", "GQ"), ok("Dominica", "DM"), ok("Georgia", "GE"),
		not("Korea.", Wrong), not("Congo (the)", Wrong), not("Virgin Islands", Wrong), not("The Congo", Wrong), not("R.A.", Wrong), not("Georgia (US)", Wrong),
		not("China (Shanghai)", Wrong), not("Sudan (South)", Wrong), not("Saint Martin", Wrong),
		not("Korea", Wrong), not("Congo", Wrong), not("Atlantis", Wrong), not("XX", Wrong), not("RA", Wrong), not("EU", Wrong), not("Europe", Wrong),
		not("America", Wrong), not("Netherlands Antilles", Wrong), not("Unknown", Empty), not("International", Wrong), not("NY", Wrong), not("CAL", Wrong),
	)
}

func TestZonesAndDomains(t *testing.T) {
	check(t, "person.time_zone", Context{}, ok("Europe/Berlin", "Europe/Berlin"), ok("America/New_York", "America/New_York"), ok("UTC", "UTC"),
		not("GMT+1", Wrong), not("Local", Wrong), not("Europe/Atlantis", Wrong), not("../etc/passwd", Wrong), not("CET", Wrong))
	check(t, "company.domain", Context{},
		ok("acme.example", "acme.example"), ok("www.acme.example", "acme.example"), ok("https://www.Acme.example/about?x=1", "acme.example"),
		ok("http://shop.acme.co.uk:8080/", "acme.co.uk"), ok("bücher.example", "xn--bcher-kva.example"), ok("acme.example/path", "acme.example"),
		not("acme", Wrong), not("co.uk", Wrong), not("10.0.0.1", Wrong), not("not a domain", Wrong), not("https://", Wrong))
}

// TestCanonicalPhonesNeedNoParser compares the short way with the parser for
// numbers of every country.
func TestCanonicalPhonesNeedNoParser(t *testing.T) {
	short := 0
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.MOBILE, phonenumbers.FIXED_LINE} {
			example := phonenumbers.GetExampleNumberForType(region, kind)
			if example == nil {
				continue
			}
			text := phonenumbers.Format(example, phonenumbers.E164)
			if isCanonical(text) {
				short++
			}
			if number, ok := possible(text, ""); !ok || phonenumbers.Format(number, phonenumbers.E164) != text {
				t.Errorf("%s: %s is not what the parser makes of it", region, text)
			}
		}
	}
	if short < 300 {
		t.Errorf("only %d numbers went the short way", short)
	}
}
