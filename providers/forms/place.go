package forms

import (
	"net/url"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the machine may have no table of zones

	"github.com/enrichd/enrichd/email"
)

// zones remembers names that proved to be zones; there are only so many.
var zones sync.Map

// timeZone accepts the IANA name of a time zone.
func timeZone(text string) (string, Verdict) {
	name := strings.TrimSpace(text)
	if _, known := zones.Load(name); known {
		return name, OK
	}
	if !strings.Contains(name, "/") && name != "UTC" {
		return "", Wrong // "Local", abbreviations, offsets
	}
	if _, err := time.LoadLocation(name); err != nil {
		return "", Wrong
	}
	zones.Store(name, nil)
	return name, OK
}

// domain brings a host name or web address into the registrable domain.
func domain(text string) (string, Verdict) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "://") {
		address, err := url.Parse(text)
		if err != nil {
			return "", Wrong
		}
		text = address.Hostname()
	}
	text, _, _ = strings.Cut(text, "/")
	text, _, _ = strings.Cut(text, "?")
	registrable, err := email.NormalizeDomain(text)
	if err != nil {
		return "", Wrong
	}
	return registrable.String(), OK
}
