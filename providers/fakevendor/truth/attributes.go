package truth

// Attributes returns what is known as the contract's attributes, each in the
// contract's form. What is not known is left out.
func (p Person) Attributes() map[string]any {
	known := map[string]any{}
	texts(known, map[string]string{
		"person.full_name":      p.FullName,
		"person.first_name":     p.FirstName,
		"person.last_name":      p.LastName,
		"person.title":          p.Title,
		"person.seniority":      p.Seniority,
		"person.department":     p.Department,
		"person.email_status":   p.EmailStatus,
		"person.phone":          p.Phone,
		"person.mobile_phone":   p.MobilePhone,
		"person.linkedin_url":   linkedIn("in", p.LinkedIn),
		"person.city":           p.Place.City,
		"person.region":         p.Place.Region,
		"person.country":        p.Place.CountryCode,
		"person.time_zone":      p.Place.TimeZone,
		"person.company_name":   p.CompanyName,
		"person.company_domain": p.CompanyDomain,
	})
	return known
}

// Attributes returns what is known as the contract's attributes, each in the
// contract's form. What is not known is left out.
func (c Company) Attributes() map[string]any {
	known := map[string]any{}
	texts(known, map[string]string{
		"company.name":           c.Name,
		"company.legal_name":     c.LegalName,
		"company.domain":         c.Domain,
		"company.industry":       c.Industry,
		"company.description":    c.Description,
		"company.employee_range": c.EmployeeRange,
		"company.revenue_range":  c.RevenueRange,
		"company.linkedin_url":   linkedIn("company", c.LinkedIn),
		"company.phone":          c.Phone,
		"company.city":           c.Place.City,
		"company.region":         c.Place.Region,
		"company.country":        c.Place.CountryCode,
	})
	if c.Employees != 0 {
		known["company.employee_count"] = c.Employees
	}
	if c.RevenueUSD != 0 {
		known["company.annual_revenue_usd"] = c.RevenueUSD
	}
	if c.Founded != 0 {
		known["company.founded_year"] = int64(c.Founded)
	}
	if len(c.Technologies) != 0 {
		known["company.technologies"] = c.Technologies
	}
	return known
}

func texts(known map[string]any, values map[string]string) {
	for name, value := range values {
		if value != "" {
			known[name] = value
		}
	}
}

func linkedIn(kind, handle string) string {
	if handle == "" {
		return ""
	}
	return "https://www.linkedin.com/" + kind + "/" + handle
}
