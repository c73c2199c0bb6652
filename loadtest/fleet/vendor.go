package fleet

import (
	"context"
	"fmt"
	"net"

	"github.com/enrichd/enrichd/providers/fakevendor"
)

// Vendors are fake vendors that are served in this process.
type Vendors struct {
	*fakevendor.Server

	address string
	cancel  context.CancelFunc
	served  chan error
}

// StartVendors serves fake vendors on a free port of the loopback interface
// until Stop.
func StartVendors(config fakevendor.Config) (*Vendors, error) {
	server, err := fakevendor.New(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	v := &Vendors{Server: server, address: listener.Addr().String(), cancel: cancel, served: make(chan error, 1)}
	go func() { v.served <- server.Serve(ctx, listener) }()
	return v, nil
}

// URL is the base address of a vendor's calls.
func (v *Vendors) URL(name string) string { return fmt.Sprintf("http://%s/%s", v.address, name) }

// Stop ends the vendors.
func (v *Vendors) Stop() {
	v.cancel()
	<-v.served
}

// Provider is the entry of a fake vendor in enrichd's list of providers.
func (v *Vendors) Provider(name, definition string, over Config) Config {
	return Merge(Config{
		"name":          name,
		"definition":    definition,
		"base_url":      v.URL(name),
		"allow_private": true,
		"credentials":   Config{"api_key": "k"},
	}, over)
}
