package server

import (
	"net"
	"net/url"
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// checkForeign refuses what a browser sends for a page of somebody else's.
// There are no API keys, so a listener on loopback trusts whoever runs a
// program on the machine; a page in a browser there must not be trusted with
// them. Such a page is told by its Origin (RFC 6454), or, when its own name
// resolves to this machine (DNS rebinding), by the host that was asked for.
func (c Config) checkForeign(origin, host string) error {
	if origin != "" {
		if page, err := url.Parse(origin); err != nil || page.Host == "" || !strings.EqualFold(page.Host, host) {
			return &enrich.Error{
				Kind: enrich.Denied, Reason: "cross_site", Offset: -1,
				Message: "requests of web pages are refused: the Origin header names another site than this service",
			}
		}
	}
	if !c.AllowRemote && host != "" && !isLoopback(host) {
		return &enrich.Error{
			Kind: enrich.Denied, Reason: "foreign_host", Offset: -1,
			Message: "this service is for its own machine: ask for it as localhost or 127.0.0.1, or let the operator set allow_remote",
		}
	}
	return nil
}

// isLoopback tells whether a host, with or without port, is this machine alone.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
