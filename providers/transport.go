package providers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
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
	maxRedirects   = 3
	maxHeaderBytes = 64 << 10
	// idleConnections are kept of each provider, as many as calls were under way at
	// once: a vendor that allows 1,000 calls a second and takes half a second has 500.
	// To dial for a call costs as much as the call, and with TLS far more.
	idleConnections = 512
)

// errPrivateAddress means that a vendor's name led into a private network.
var errPrivateAddress = errors.New("the vendor's host has a private network address, which allow_private must allow")

// newTransport makes the connections of one provider. It speaks HTTP/1.1 only:
// calls are few and bounded by quotas, and a connection of its own for each
// keeps one vendor's stalled stream from holding up the others.
func newTransport(dial Dial, proxy *url.URL, allowPrivate bool) *http.Transport {
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
	return transport
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

// roundTrip sends a request and follows redirects within the same host only, so
// that no other one ever sees credentials or addresses. Any other is left as the
// answer. An http.Client would copy the headers of every request for that: six
// objects and 600 bytes.
func (v *Vendor) roundTrip(request *http.Request) (*http.Response, error) {
	for hops := 0; ; hops++ {
		answer, err := v.transport.RoundTrip(request)
		if err != nil || hops == maxRedirects {
			return answer, err
		}
		target := redirectOf(request, answer)
		if target == nil {
			return answer, nil
		}
		const most = 2 << 10 // bytes: a longer body costs more than a connection
		_, _ = io.CopyN(io.Discard, answer.Body, most)
		_ = answer.Body.Close() // nothing in it is of use
		next := *request
		next.URL = target
		request = &next
	}
}

// redirectOf is where an answer leads, nil if it may not be followed.
func redirectOf(request *http.Request, answer *http.Response) *url.URL {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if request.Method != http.MethodGet {
			return nil
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if request.ContentLength > 0 {
			return nil // its body can be read only once
		}
	default:
		return nil
	}
	target, err := answer.Location()
	if err != nil || target.Scheme != request.URL.Scheme || target.Host != request.URL.Host {
		return nil
	}
	return target
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
