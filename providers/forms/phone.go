package forms

import (
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// phone brings a number into E.164. A national number is read in the country
// that country returns; it is not asked for others. A number with an extension reaches a switchboard, not the person, so
// it is refused rather than shortened.
//
// Numbers must be possible, not assigned: a vendor knows numbers that the
// library's plan does not know yet.
func phone(text string, country func() string) (string, Verdict) {
	const longest = 40 // more is no number, and the parser need not try
	if len(text) > longest {
		return "", Wrong
	}
	if isCanonical(text) {
		return text, OK
	}
	region := ""
	if !strings.HasPrefix(strings.TrimSpace(text), "+") && country != nil {
		region = country()
	}
	number, ok := possible(text, region)
	if !ok && strings.Contains(text, "(0)") {
		number, ok = possible(strings.Replace(text, "(0)", "", 1), region)
	}
	if !ok || number.GetExtension() != "" || isOneDigit(number.GetNationalNumber()) {
		return "", Wrong
	}
	return phonenumbers.Format(number, phonenumbers.E164), OK
}

// callingCodes are those of countries and networks.
var callingCodes = func() map[string]int32 {
	codes := map[string]int32{}
	for code := range phonenumbers.GetSupportedCallingCodes() {
		codes[strconv.Itoa(code)] = int32(code) //nolint:gosec // three digits
	}
	return codes
}()

// isCanonical tells whether the text is a possible number in E.164 already, as
// most vendors send it: then it need not be taken apart. A national part that
// begins with 0 is left to the parser, for in most countries that 0 is a
// prefix.
func isCanonical(text string) bool {
	if len(text) < len("+1234567") || len(text) > len("+123456789012345") || text[0] != '+' {
		return false
	}
	for i := 2; i <= 4; i++ { // a calling code has one to three digits, and none begins another
		code, known := callingCodes[text[1:i]]
		if !known {
			continue
		}
		national, err := strconv.ParseUint(text[i:], 10, 64)
		if err != nil || text[i] == '0' || isOneDigit(national) {
			return false
		}
		number := &phonenumbers.PhoneNumber{CountryCode: &code, NationalNumber: &national}
		return phonenumbers.IsPossibleNumberWithReason(number) == phonenumbers.IS_POSSIBLE
	}
	return false
}

func possible(text, region string) (*phonenumbers.PhoneNumber, bool) {
	number, err := phonenumbers.Parse(text, region)
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
