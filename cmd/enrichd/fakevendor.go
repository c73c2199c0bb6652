package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"

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
		return listenHelp(err, "choose another address with --listen")
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
	text, err := readFile(c.Config, 1<<20)
	if err != nil {
		return fakevendor.Config{}, err
	}
	loaded, err := fakevendor.Parse(bytes.NewReader(text))
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n") // the rest repeats the file
		return fakevendor.Config{}, fmt.Errorf("%s: %s", c.Config, reason)
	}
	return loaded, nil
}
