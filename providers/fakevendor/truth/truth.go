// Package truth invents the people and companies that fake vendors know.
//
// Everything follows from a seed and the address or domain that is asked: the
// same question always has the same answer, in every process, and nothing is
// stored. All vendors see the same truth; a [Knowledge] says which part of it
// one vendor has.
//
// Names, companies and numbers are invented; telephone numbers come from the
// ranges that their countries keep free for works of fiction.
package truth

import "strings"

// World is everything that is true under one seed. The zero World is a world
// like any other. It is safe for concurrent use.
type World struct {
	Seed uint64
}

// Person is what is true, or what one vendor knows, about the holder of an
// address. Empty means that it is not known.
type Person struct {
	Address string

	FullName, FirstName, LastName string
	Title                         string
	// Seniority, Department and EmailStatus are words of the contract.
	Seniority, Department, EmailStatus string
	// Phone and MobilePhone are E.164.
	Phone, MobilePhone string
	// LinkedIn is the handle alone.
	LinkedIn string
	Place    Place
	// CompanyName and CompanyDomain are the employer's.
	CompanyName, CompanyDomain string
	// Employer is the employer as far as it is known; its domain is empty
	// where it is not.
	Employer Company
}

// Company is what is true, or what one vendor knows, about the owner of a
// domain. Empty and zero mean that it is not known.
type Company struct {
	Name, LegalName, Domain string
	Industry, Description   string
	Employees               int64
	// EmployeeRange is one of the contract's eight.
	EmployeeRange string
	// RevenueUSD is whole US dollars a year, RevenueRange one of [Revenues].
	RevenueUSD   int64
	RevenueRange string
	Founded      int
	Technologies []string
	// LinkedIn is the handle alone.
	LinkedIn string
	// Phone is E.164.
	Phone string
	Place Place
}

// Place is where a person or a company is.
type Place struct {
	City, Region, RegionCode, Country, CountryCode, TimeZone string
}

// Fold brings an address or a domain into the spelling under which a vendor
// keeps it: without blanks around it and in lower case.
func Fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// DomainOf returns the part of an address after its last @, or "".
func DomainOf(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return ""
	}
	return address[at+1:]
}

// FreeMail tells whether a domain belongs to a free mail service and so says
// nothing about an employer.
func FreeMail(domain string) bool { return freeMail[domain] }
