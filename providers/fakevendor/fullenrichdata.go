package fakevendor

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

func fullEnrichProfile(p truth.Person) object {
	functions := list{}
	if word := fullEnrichFunctions[p.Department]; word != "" {
		functions = list{object{{"function", word}}}
	}
	employer := p.Employer
	employer.Name, employer.Domain = p.CompanyName, p.CompanyDomain
	return object{
		{"id", subjectText(truth.World{}.ID(p.Address))},
		{"full_name", orNull(p.FullName)},
		{"first_name", orNull(p.FirstName)},
		{"last_name", orNull(p.LastName)},
		{"headline", "Here to help"},
		{"description", "Likes long walks and short meetings."},
		{"location", object{
			{"city", orNull(p.Place.City)},
			{"region", orNull(p.Place.Region)},
			{"country", orNull(p.Place.Country)},
			{"country_code", orNull(p.Place.CountryCode)},
		}},
		{"social_profiles", fullEnrichSocial("in", p.LinkedIn)},
		{"employment", object{{"current", object{
			{"title", orNull(p.Title)},
			{"is_current", true},
			{"seniority", orNull(fullEnrichSeniority[p.Seniority])},
			{"job_functions", functions},
			{"company", fullEnrichCompanyData(employer)},
		}}}},
	}
}

func fullEnrichSocial(kind, handle string) object {
	return object{{"professional_network", object{
		{"id", nil}, {"url", orNull(profile(kind, handle))}, {"handle", orNull(handle)},
	}}}
}

// fullEnrichCompanyData is a company; 0 people and the year 0 mean unknown.
func fullEnrichCompanyData(company truth.Company) object {
	website := any(nil)
	if company.Domain != "" {
		website = "https://www." + company.Domain
	}
	return object{
		{"id", subjectText(truth.World{}.ID(company.Domain))},
		{"name", orNull(company.Name)},
		{"domain", orNull(company.Domain)},
		{"website", website},
		{"description", orNull(company.Description)},
		{"year_founded", company.Founded},
		{"headcount", company.Employees},
		{"headcount_range", orNull(company.EmployeeRange)},
		{"industry", object{{"main_industry", orNull(capitalised(company.Industry))}}},
		{"locations", object{{"headquarters", object{
			{"city", orNull(company.Place.City)},
			{"region", orNull(company.Place.Region)},
			{"country", orNull(company.Place.Country)},
			{"country_code", orNull(company.Place.CountryCode)},
		}}}},
		{"social_profiles", fullEnrichSocial("company", company.LinkedIn)},
	}
}

func fullEnrichContactInfo(p truth.Person) object {
	info := object{}
	if word := fullEnrichStatus[p.EmailStatus]; word != "" {
		info = append(info, member{"most_probable_work_email", object{{"email", p.Address}, {"status", word}}})
	}
	if p.MobilePhone != "" {
		info = append(info, member{"most_probable_phone", object{{"number", p.MobilePhone}, {"region", orNull(p.Place.CountryCode)}}})
	}
	return info
}

// The vendor's words for ours.
var (
	fullEnrichStatus = map[string]string{
		"valid": "DELIVERABLE", "unknown": "HIGH_PROBABILITY", "accept_all": "CATCH_ALL", "invalid": "INVALID",
	}
	fullEnrichSeniority = map[string]string{
		"owner": "Owner", "founder": "Founder", "c_suite": "C-level", "partner": "Partner", "vp": "VP", "head": "Head",
		"director": "Director", "manager": "Manager", "senior": "Senior",
	}
	fullEnrichFunctions = map[string]string{
		"design": "Design", "support": "Customer Service", "operations": "Administrative", "other": "Consulting & Advisory",
		"sales": "Sales", "marketing": "Marketing", "finance": "Finance", "legal": "Legal", "engineering": "Engineering",
	}
)

// textWait is a wait in words, rounded up: 45s, 1m.
func textWait(wait time.Duration) string {
	seconds := wholeSeconds(wait)
	if seconds >= 60 {
		return strconv.FormatInt((seconds+59)/60, 10) + "m"
	}
	return strconv.FormatInt(seconds, 10) + "s"
}

func sortedKeys(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }
