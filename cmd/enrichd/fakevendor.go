package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/enrichd/enrichd/providers/fakevendor"
)

// fakevendorCommand serves fake vendors.
type fakevendorCommand struct {
	Config string `short:"c" type:"existingfile" help:"The fake vendors' configuration; docs/fakevendor.md explains it. By default every vendor it knows." placeholder:"FILE"`
	Listen string `default:"127.0.0.1:8490" help:"Where to listen."`
}

// Run serves until the context ends.
func (c *fakevendorCommand) Run(ctx context.Context, terminal terminal) error {
	loaded, err := c.load()
	if err != nil {
		return err
	}
	vendors, err := fakevendor.New(loaded)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	for _, name := range vendors.Vendors() {
		fmt.Fprintf(terminal.out, "%s: base_url: http://%s/%s\n", name, listener.Addr(), name)
	}
	fmt.Fprintf(terminal.out, "ledger, faults and limits: http://%s/_control/\n", listener.Addr())
	return vendors.Serve(ctx, listener)
}

func (c *fakevendorCommand) load() (fakevendor.Config, error) {
	if c.Config == "" {
		all := fakevendor.Config{Vendors: map[string]fakevendor.Vendor{}}
		for _, name := range fakevendor.Dialects() {
			all.Vendors[name] = fakevendor.Vendor{}
		}
		return all, nil
	}
	file, err := os.Open(c.Config)
	if err != nil {
		return fakevendor.Config{}, err
	}
	defer file.Close()
	return fakevendor.Parse(file)
}
