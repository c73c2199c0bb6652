package forms

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// phone brings a number into E.164. A national number is read in the country
// given. A number with an extension reaches a switchboard, not the person, so
// it is refused rather than shortened.
//
// Numbers must be possible, not assigned: a vendor knows numbers that the
// library's plan does not know yet.
func phone(text, country string) (string, Verdict) {
	const longest = 40 // more is no number, and the parser need not try
	if len(text) > longest {
		return "", Wrong
	}
	number, ok := possible(text, country)
	if !ok && strings.Contains(text, "(0)") {
		number, ok = possible(strings.Replace(text, "(0)", "", 1), country)
	}
	if !ok || number.GetExtension() != "" || isOneDigit(number.GetNationalNumber()) {
		return "", Wrong
	}
	return phonenumbers.Format(number, phonenumbers.E164), OK
}

func possible(text, country string) (*phonenumbers.PhoneNumber, bool) {
	number, err := phonenumbers.Parse(text, country)
	if err != nil {
		return nil, false
	}
	return number, phonenumbers.IsPossibleNumberWithReason(number) == phonenumbers.IS_POSSIBLE
}

// isOneDigit tells whether a number repeats one digit, as fillers do.
func isOneDigit(number uint64) bool {
	last := number % 10
	for ; number > 0; number /= 10 {
		if number%10 != last {
			return false
		}
	}
	return true
}
