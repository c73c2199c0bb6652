package email

// suggestTargets are the domains that mistyped ones are compared with. Short
// ones are left out: everything is close to them.
var suggestTargets = [...]string{
	"gmail.com", "googlemail.com", "hotmail.com", "outlook.com", "yahoo.com", "icloud.com",
	"protonmail.com", "comcast.net", "verizon.net", "fastmail.com",
}

// notSlips are companies whose domain happens to be close to a target.
var notSlips = setOf("cloud.com")

// suggestDomain returns the target one slip away from domain, or "".
func suggestDomain(domain string) string {
	if notSlips.has(domain) {
		return ""
	}
	return closest(domain, suggestTargets[:])
}

// suggestTLD returns the top-level domain that an unknown one was probably
// meant to be, or "".
func suggestTLD(tld string) string {
	return closest(tld, []string{"com", "net", "org"})
}

func closest(word string, targets []string) string {
	for _, t := range targets {
		if word != t && oneSlip(word, t) {
			return t
		}
	}
	return ""
}

// oneSlip reports whether a and b differ by one missing, extra or wrong
// character, or by two neighbours swapped.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) || a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
