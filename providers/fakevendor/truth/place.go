package truth

import "fmt"

// place is a place with its telephone numbers and its companies' legal forms.
type place struct {
	Place
	line, cell numbers
	suffixes   []string
}

// numbers is a range of E.164 numbers kept free for fiction: the prefix, then
// a number from first to last with the given count of digits. It is zero where
// the range kept free is not one that number plans take for valid: a careful
// reader would drop such a number.
type numbers struct {
	prefix      string
	digits      int
	first, last uint64
}

func (n numbers) pick(bits uint64) string {
	if n.prefix == "" {
		return ""
	}
	return fmt.Sprintf("%s%0*d", n.prefix, n.digits, n.first+bits%(n.last-n.first+1))
}

func (p place) phone(bits uint64) string  { return p.line.pick(bits) }
func (p place) mobile(bits uint64) string { return p.cell.pick(bits) }

// north is the fictional range of one area of the North American plan; lines
// and mobiles share it.
func north(area string) numbers { return numbers{"+1" + area + "555", 4, 100, 199} }

var (
	american   = []string{"Inc.", "LLC", "Corp."}
	british    = []string{"Ltd", "PLC", "LLP"}
	german     = []string{"GmbH", "AG"}
	french     = []string{"SAS", "SARL"}
	swedish    = []string{"AB"}
	australian = []string{"Pty Ltd"}

	swedishCell    = numbers{"+46701740", 3, 605, 699}
	germanCell     = numbers{"+491522881", 4, 7386, 7386}
	australianCell = numbers{"+61491570", 3, 156, 159}
)

// places is where people and companies are.
var places = []place{
	{Place{"Austin", "Texas", "TX", "United States", "US", "America/Chicago"}, north("512"), north("512"), american},
	{Place{"Boston", "Massachusetts", "MA", "United States", "US", "America/New_York"}, north("617"), north("617"), american},
	{Place{"Denver", "Colorado", "CO", "United States", "US", "America/Denver"}, north("303"), north("303"), american},
	{Place{"Portland", "Oregon", "OR", "United States", "US", "America/Los_Angeles"}, north("503"), north("503"), american},
	{Place{"Toronto", "Ontario", "ON", "Canada", "CA", "America/Toronto"}, north("416"), north("416"), american},
	{Place{"London", "England", "ENG", "United Kingdom", "GB", "Europe/London"}, numbers{"+44207946", 4, 0, 999}, numbers{}, british},
	{Place{"Leeds", "England", "ENG", "United Kingdom", "GB", "Europe/London"}, numbers{"+44113496", 4, 0, 999}, numbers{}, british},
	{Place{"Berlin", "Berlin", "BE", "Germany", "DE", "Europe/Berlin"}, numbers{"+493023125", 3, 0, 999}, germanCell, german},
	{Place{"Hamburg", "Hamburg", "HH", "Germany", "DE", "Europe/Berlin"}, numbers{"+494066969", 3, 0, 999}, germanCell, german},
	{Place{"Paris", "Île-de-France", "IDF", "France", "FR", "Europe/Paris"}, numbers{"+3319900", 4, 0, 9999}, numbers{}, french},
	{Place{"Stockholm", "Stockholm", "AB", "Sweden", "SE", "Europe/Stockholm"}, numbers{"+46846500", 3, 400, 499}, swedishCell, swedish},
	{Place{"Sydney", "New South Wales", "NSW", "Australia", "AU", "Australia/Sydney"}, numbers{"+6125550", 4, 0, 9999}, australianCell, australian},
}
