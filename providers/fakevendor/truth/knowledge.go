package truth

// Knowledge is the part of the truth that one vendor has. All shares are from
// 0 to 1; the zero value of each leaves the truth whole.
type Knowledge struct {
	// Miss is the share of subjects that the vendor does not know.
	Miss float64 `yaml:"miss"`
	// Partial is the share of known subjects of which it has little more than
	// the names.
	Partial float64 `yaml:"partial"`
	// Suppressed is the share of people who objected to being looked up at
	// this vendor.
	Suppressed float64 `yaml:"suppressed"`
	// Gaps is the share of subjects for which an attribute is not known, each
	// attribute for itself. A person's full name and a company's name and
	// domain have none: they are what a record is about.
	Gaps float64 `yaml:"gaps"`
	// Attributes sets Gaps for single attributes, those too, by their names in
	// the contract ("person.phone": 0.7).
	Attributes map[string]float64 `yaml:"attributes"`
}

// Found is how much a vendor has about a subject.
type Found int

// How much a vendor has.
const (
	Nothing  Found = iota // it does not know the subject
	Objected              // the person does not want to be looked up
	Thin                  // little more than names
	Full                  // what it has of everything
)

// The labels of a vendor's rolls.
var (
	rollMiss       = of("miss")
	rollPartial    = of("partial")
	rollSuppressed = of("suppressed")
)

// field is one attribute of a subject, and how to forget it.
type field[T any] struct {
	name   string
	roll   label
	forget func(*T)
	// thin fields stay in a thin record, and own ones are what a record is
	// about.
	thin, own bool
}

var personFields = labelled([]field[Person]{
	{name: "person.full_name", forget: func(p *Person) { p.FullName = "" }, thin: true, own: true},
	{name: "person.first_name", forget: func(p *Person) { p.FirstName = "" }, thin: true},
	{name: "person.last_name", forget: func(p *Person) { p.LastName = "" }, thin: true},
	{name: "person.title", forget: func(p *Person) { p.Title = "" }},
	{name: "person.seniority", forget: func(p *Person) { p.Seniority = "" }},
	{name: "person.department", forget: func(p *Person) { p.Department = "" }},
	{name: "person.email_status", forget: func(p *Person) { p.EmailStatus = "" }},
	{name: "person.phone", forget: func(p *Person) { p.Phone = "" }},
	{name: "person.mobile_phone", forget: func(p *Person) { p.MobilePhone = "" }},
	{name: "person.linkedin_url", forget: func(p *Person) { p.LinkedIn = "" }},
	{name: "person.city", forget: func(p *Person) { p.Place.City = "" }},
	{name: "person.region", forget: func(p *Person) { p.Place.Region, p.Place.RegionCode = "", "" }},
	{name: "person.country", forget: func(p *Person) { p.Place.Country, p.Place.CountryCode = "", "" }},
	{name: "person.time_zone", forget: func(p *Person) { p.Place.TimeZone = "" }},
	{name: "person.company_name", forget: func(p *Person) { p.CompanyName = "" }, thin: true},
	{name: "person.company_domain", forget: func(p *Person) { p.CompanyDomain = "" }, thin: true},
})

var companyFields = labelled([]field[Company]{
	{name: "company.name", forget: func(c *Company) { c.Name = "" }, thin: true, own: true},
	{name: "company.legal_name", forget: func(c *Company) { c.LegalName = "" }},
	{name: "company.domain", forget: func(c *Company) { c.Domain = "" }, thin: true, own: true},
	{name: "company.industry", forget: func(c *Company) { c.Industry = "" }, thin: true},
	{name: "company.description", forget: func(c *Company) { c.Description = "" }},
	{name: "company.employee_count", forget: func(c *Company) { c.Employees = 0 }},
	{name: "company.employee_range", forget: func(c *Company) { c.EmployeeRange = "" }},
	{name: "company.annual_revenue_usd", forget: func(c *Company) { c.RevenueUSD = 0 }},
	{name: "company.revenue_range", forget: func(c *Company) { c.RevenueRange = "" }},
	{name: "company.founded_year", forget: func(c *Company) { c.Founded = 0 }},
	{name: "company.technologies", forget: func(c *Company) { c.Technologies = nil }},
	{name: "company.linkedin_url", forget: func(c *Company) { c.LinkedIn = "" }},
	{name: "company.phone", forget: func(c *Company) { c.Phone = "" }},
	{name: "company.city", forget: func(c *Company) { c.Place.City = "" }},
	{name: "company.region", forget: func(c *Company) { c.Place.Region, c.Place.RegionCode = "", "" }},
	{name: "company.country", forget: func(c *Company) { c.Place.Country, c.Place.CountryCode = "", "" }},
})

func labelled[T any](fields []field[T]) []field[T] {
	for i := range fields {
		fields[i].roll = of(fields[i].name)
	}
	return fields
}

// Attributes lists the names that [Knowledge.Attributes] may hold.
func Attributes() []string {
	var names []string
	for _, f := range personFields {
		names = append(names, f.name)
	}
	for _, f := range companyFields {
		names = append(names, f.name)
	}
	return names
}

// PersonAt returns what a vendor knows about the holder of an address. The
// employer inside is what the same vendor says when it is asked for it.
func (w World) PersonAt(vendor string, k Knowledge, address string) (Person, Found) {
	address = Fold(address)
	d := newDice(w.Seed, vendor, address)
	if d.share(rollSuppressed) < k.Suppressed {
		return Person{}, Objected
	}
	p, exists := w.Person(address)
	if !exists || d.share(rollMiss) < k.Miss {
		return Person{}, Nothing
	}
	found := Full
	if d.share(rollPartial) < k.Partial {
		found = Thin
	}
	p.Employer, _ = w.companyAt(vendor, k, p.Employer)
	forget(d, k, found, personFields, &p)
	return p, found
}

// CompanyAt returns what a vendor knows about the owner of a domain.
func (w World) CompanyAt(vendor string, k Knowledge, domain string) (Company, Found) {
	domain = Fold(domain)
	if domain == "" || freeMail[domain] {
		return Company{}, Nothing
	}
	return w.companyAt(vendor, k, w.Company(domain))
}

// companyAt returns what a vendor knows of a company.
func (w World) companyAt(vendor string, k Knowledge, c Company) (Company, Found) {
	d := newDice(w.Seed, vendor, c.Domain)
	if d.share(rollMiss) < k.Miss {
		return Company{}, Nothing
	}
	found := Full
	if d.share(rollPartial) < k.Partial {
		found = Thin
	}
	forget(d, k, found, companyFields, &c)
	return c, found
}

// forget drops what the vendor does not know.
func forget[T any](d dice, k Knowledge, found Found, fields []field[T], subject *T) {
	for _, f := range fields {
		gaps, ok := k.Attributes[f.name]
		if !ok && !f.own {
			gaps = k.Gaps
		}
		if found == Thin && !f.thin || d.share(f.roll) < gaps {
			f.forget(subject)
		}
	}
}
