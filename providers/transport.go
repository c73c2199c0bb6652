package providers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Dial opens a connection to a vendor.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	maxRedirects    = 3
	maxHeaderBytes  = 64 << 10
	idleConnections = 64
)

// errPrivateAddress means that a vendor's name led into a private network.
var errPrivateAddress = errors.New("the vendor's host has a private network address, which allow_private must allow")

// newClient makes the HTTP client of one provider. It speaks HTTP/1.1 only:
// calls are few and bounded by quotas, and a connection of its own for each
// keeps one vendor's stalled stream from holding up the others.
func newClient(dial Dial, proxy *url.URL, allowPrivate bool) *http.Client {
	if dial == nil {
		dial = guardedDial(allowPrivate || proxy != nil)
	}
	transport := &http.Transport{
		DialContext:            named(dial),
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    5 * time.Second,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}

// dialError means that no connection was made, so nothing was sent.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// named marks the errors of dial, which net/http passes on as they are.
func named(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, &dialError{err}
		}
		return connection, nil
	}
}

// checkRedirect follows a redirect within the same host only, so that no other
// one ever sees credentials or addresses. Any other is left as the answer.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0]
	if len(before) > maxRedirects || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || next.Method != first.Method {
		return http.ErrUseLastResponse
	}
	return nil
}

// guardedDial looks at the address after the name was resolved, so that a name
// cannot lead into the operator's network.
func guardedDial(allowPrivate bool) Dial {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			host, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("unreadable address of the vendor's host: %w", err)
			}
			if !isPublic(host.Addr()) {
				return errPrivateAddress
			}
			return nil
		}
	}
	return dialer.DialContext
}

// closedNetworks are those of the special-purpose registries (RFC 6890) that
// netip has no word for, and the prefixes that wrap an IPv4 address.
var closedNetworks = func() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
	} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}()

func isPublic(address netip.Addr) bool {
	address = address.Unmap()
	if !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	for _, prefix := range closedNetworks {
		if prefix.Contains(address) {
			return false
		}
	}
	return true
}
