package forms

import (
	"encoding/json"
	"strconv"
)

// ScalarText returns a string, number or boolean as text, whole numbers without
// exponent, and false for anything else.
func ScalarText(raw any) (string, bool) {
	switch raw := raw.(type) {
	case string:
		return raw, true
	case int:
		return strconv.Itoa(raw), true
	case float64:
		return strconv.FormatFloat(raw, 'f', -1, 64), true
	case json.Number:
		return raw.String(), true
	case bool:
		return strconv.FormatBool(raw), true
	default:
		return "", false
	}
}
