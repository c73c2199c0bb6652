package fakevendor

import (
	"net/http"
	"strings"

	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

func hunterPersonData(p truth.Person) object {
	return object{
		{"id", subjectText(truth.World{}.ID(p.Address))},
		{"name", object{
			{"fullName", orNull(p.FullName)},
			{"givenName", orNull(p.FirstName)},
			{"familyName", orNull(p.LastName)},
		}},
		{"email", p.Address},
		{"location", orNull(joined(p.Place.City, p.Place.Region, p.Place.Country))},
		{"timeZone", orNull(p.Place.TimeZone)},
		{"geo", hunterGeo(p.Place)},
		{"employment", object{
			{"domain", orNull(p.CompanyDomain)},
			{"name", orNull(p.CompanyName)},
			{"title", orNull(p.Title)},
			{"role", orNull(hunterRoles[p.Department])},
			{"seniority", orNull(hunterSeniority[p.Seniority])},
		}},
		{"linkedin", object{{"handle", orNull(p.LinkedIn)}}},
		{"phone", orNull(spacedPhone(p.Phone))},
		{"fuzzy", false},
	}
}

func hunterCompanyData(c truth.Company) object {
	handle := ""
	if c.LinkedIn != "" {
		handle = "company/" + c.LinkedIn
	}
	return object{
		{"id", subjectText(truth.World{}.ID(c.Domain))},
		{"name", orNull(c.Name)},
		{"legalName", orNull(c.LegalName)},
		{"domain", orNull(c.Domain)},
		{"site", object{{"phoneNumbers", phoneList(c.Phone)}}},
		{"category", object{{"industry", orNull(capitalised(c.Industry))}}},
		{"tech", c.Technologies},
		{"description", orNull(c.Description)},
		{"foundedYear", numberOrNull(c.Founded)},
		{"location", orNull(joined(c.Place.City, c.Place.Region, c.Place.Country))},
		{"timeZone", orNull(c.Place.TimeZone)},
		{"geo", hunterGeo(c.Place)},
		{"linkedin", object{{"handle", orNull(handle)}}},
		{"phone", orNull(spacedPhone(c.Phone))},
		{"metrics", object{
			{"employees", numberOrNull(c.Employees)},
			{"employeesRange", orNull(c.EmployeeRange)},
			{"annualRevenue", numberOrNull(c.RevenueUSD)},
		}},
	}
}

func hunterGeo(p truth.Place) object {
	return object{
		{"city", orNull(p.City)},
		{"state", orNull(p.Region)},
		{"stateCode", orNull(p.RegionCode)},
		{"country", orNull(p.Country)},
		{"countryCode", orNull(p.CountryCode)},
	}
}

// hunterSeniority and hunterRoles are the vendor's words for ours.
var (
	hunterSeniority = map[string]string{"c_suite": "executive", "senior": "senior", "entry": "junior"}
	hunterRoles     = map[string]string{
		"it": "it", "finance": "finance", "sales": "sales", "legal": "legal", "support": "support", "hr": "hr",
		"marketing": "marketing", "education": "education", "design": "design", "operations": "operations",
		"medical": "health",
	}
)

// profile is a LinkedIn address as most vendors write it.
func profile(kind, handle string) string {
	if handle == "" {
		return ""
	}
	return "https://www.linkedin.com/" + kind + "/" + handle
}

// phoneList is a list of one number, or of none.
func phoneList(phone string) []string {
	if phone == "" {
		return []string{}
	}
	return []string{spacedPhone(phone)}
}

// spacedPhone writes an E.164 number with blanks, as people do.
func spacedPhone(phone string) string {
	if len(phone) < 10 {
		return phone
	}
	return phone[:len(phone)-7] + " " + phone[len(phone)-7:len(phone)-4] + " " + phone[len(phone)-4:]
}

// capitalised writes every word with a capital first letter.
func capitalised(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, " ")
}

// bearer returns the token of an Authorization header, or "".
func bearer(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}
