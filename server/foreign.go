package server

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// checkForeign refuses what a browser sends for a page of somebody else's that
// is not allowed to. An open listener on loopback trusts whoever runs a program
// on the machine; a page in a browser there must not be trusted with them. Such a
// page is told by its Origin (RFC 6454), or, when its own name resolves to this
// machine (DNS rebinding), by the host that was asked for.
func (s *Server) checkForeign(origin, host string) error {
	if origin != "" && !s.config.allowsOrigin(origin) && !sameSite(origin, host) {
		return errCrossSite
	}
	if s.open && !s.config.AllowRemote && host != "" && !isLoopback(host) {
		return errForeignHost
	}
	return nil
}

var (
	errCrossSite = &enrich.Error{
		Kind: enrich.Denied, Reason: "cross_site", Offset: -1,
		Message: "requests of web pages are refused: the Origin header names another site than this service",
	}
	errForeignHost = &enrich.Error{
		Kind: enrich.Denied, Reason: "foreign_host", Offset: -1,
		Message: "this service is for its own machine: ask for it as localhost or 127.0.0.1, or let the operator configure accounts",
	}
)

// allowsOrigin tells whether the operator allows a site's pages.
func (c Config) allowsOrigin(origin string) bool {
	return origin != "" && slices.Contains(c.AllowedOrigins, origin)
}

// sameSite tells whether a page is one of ours.
func sameSite(origin, host string) bool {
	page, err := url.Parse(origin)
	return err == nil && page.Host != "" && strings.EqualFold(page.Host, host)
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
