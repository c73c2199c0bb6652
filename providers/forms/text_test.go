package forms

import (
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

// TestLeftovers makes sure that what programs leave in a text is no value.
func TestLeftovers(t *testing.T) {
	for _, text := range []string{"person.full_name", "person.title", "person.city", "person.region", "company.city", "company.industry", "company.name"} {
		check(t, enrich.Attribute(text), Context{},
			not("0", Empty), not(" 0 ", Empty), not("NaN", Empty), not("undefined", Empty),
			not("[object Object]", Wrong), not("<b>", Wrong), not("<b>Zed</b>", Wrong), not("Zed<br/>", Wrong), not("{{name}}", Wrong),
		)
	}
	for _, text := range []string{"person.full_name", "person.title", "person.city", "company.region", "company.industry"} {
		check(t, enrich.Attribute(text), Context{}, not("12", Wrong), not("2026-01-01", Wrong))
	}
	check(t, "company.name", Context{}, ok("4711", "4711"), ok("7-11", "7-11"), ok("a < b", "a < b"))
	check(t, "person.first_name", Context{}, ok("Nan", "Nan"), not("anna.weber@acme.example", Wrong))
	check(t, "person.full_name", Context{}, not("anna.weber@acme.example", Wrong), not("Anna (anna@acme.example)", Wrong))
	check(t, "person.title", Context{}, ok("VP @ Acme", "VP @ Acme"), ok("CTO {interim}", "CTO {interim}"))
}

func TestEntities(t *testing.T) {
	check(t, "person.title", Context{}, ok("R&amp;D Manager", "R&D Manager"), ok("R&D&reg manager", "R&D&reg manager"), ok("Head of&nbsp;Sales", "Head of Sales"),
		ok("AT&T; Lead", "AT&T; Lead"), not("&lt;b&gt;x", Wrong))
	check(t, "company.name", Context{}, ok("M&#252;ller &amp; S&ouml;hne", "Müller & Söhne"))
	check(t, "person.full_name", Context{}, ok("JOSE&#39; WEBER", "Jose' Weber"))
	check(t, "company.industry", Context{}, ok("Food &amp; Drink", "food & drink"))
}

func TestMarkup(t *testing.T) {
	check(t, "company.description", Context{},
		ok("<p>Hello<br>World</p>", "Hello World"), ok("Ma<b>chi</b>nes, <em>parts</em>.", "Machines, parts."), ok("<ul><li>gears</li><li>presses</li></ul>", "gears presses"),
		ok("two  blanks stay", "two  blanks stay"), ok("one\ntwo", "one\ntwo"),
		ok("**Acme** builds **great** things.", "**Acme** builds **great** things."), not("A*** b**** things", Masked), not("**Acme** b**** things", Masked), not("****", Masked),
	)
}

func TestLinkedInSchemesAndHandles(t *testing.T) {
	check(t, "company.linkedin_url", Context{}, ok("HTTP://WWW.LINKEDIN.COM/COMPANY/ACME", "https://www.linkedin.com/company/acme"),
		ok("linkedin.com/company/12345", "https://www.linkedin.com/company/12345"), not("12345", Wrong), not("https://www.linkedin.com/company/undefined", Wrong))
	check(t, "person.linkedin_url", Context{}, ok("HTTPS://de.LinkedIn.com/in/Anna-Weber", "https://www.linkedin.com/in/anna-weber"),
		not("0", Empty), not("12", Wrong), not("NaN", Empty), not("https://www.linkedin.com/in/null", Wrong), not("ftp://linkedin.com/in/anna", Wrong))
}
