package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/enrichd/enrichd/app"
	"github.com/enrichd/enrichd/config"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

//go:embed demo_leads.csv
var demoLeads []byte

//go:embed demo_vendors.yaml
var demoVendors []byte

//go:embed demo.yaml
var demoConfig []byte

// demoVendorsPlace stands in demo.yaml where the fake vendors' address belongs.
const demoVendorsPlace = "http://127.0.0.1:0"

// demoCommand shows the service at work, with nothing else on the machine.
type demoCommand struct {
	Once     bool   `help:"Stop after the table instead of serving on."`
	GRPC     string `name:"grpc" default:"127.0.0.1:8471" help:"The gRPC address."`
	HTTP     string `name:"http" default:"127.0.0.1:8470" help:"The REST address."`
	Admin    string `default:"127.0.0.1:0" help:"The address of metrics; port 0 is a free one."`
	Parallel atOnce `default:"8" help:"How many leads are under way at once."`
}

// Run enriches the bundled leads and serves on until the context ends.
func (c *demoCommand) Run(ctx context.Context, terminal terminal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	vendors, address, serveVendors, err := startDemoVendors(ctx)
	if err != nil {
		return err
	}
	store, err := os.MkdirTemp("", "enrichd-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(store)
	service, err := c.build(ctx, address, store, slog.New(slog.NewTextHandler(terminal.err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(serveVendors)
	group.Go(func() error { return service.Run(ctx) })
	group.Go(func() error {
		if err := c.show(ctx, terminal, service, vendors); err != nil {
			return err
		}
		if c.Once {
			cancel()
			return nil
		}
		printHints(terminal.out, service, address)
		return nil
	})
	return group.Wait()
}

// startDemoVendors makes the fake vendors and the function that serves them on
// a free port.
func startDemoVendors(ctx context.Context) (*fakevendor.Server, string, func() error, error) {
	parsed, err := fakevendor.Parse(bytes.NewReader(demoVendors))
	if err != nil {
		return nil, "", nil, err
	}
	vendors, err := fakevendor.New(parsed)
	if err != nil {
		return nil, "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	serve := func() error { return vendors.Serve(ctx, listener) }
	return vendors, "http://" + listener.Addr().String(), serve, nil
}

// build makes the service of the embedded configuration. What it accepts lies in
// a folder that the demo leaves no trace of.
func (c *demoCommand) build(ctx context.Context, vendors, store string, log *slog.Logger) (*app.App, error) {
	loaded, err := config.Parse("demo.yaml", bytes.ReplaceAll(demoConfig, []byte(demoVendorsPlace), []byte(vendors)))
	if err != nil {
		return nil, err
	}
	loaded.Server.GRPC, loaded.Server.HTTP, loaded.Telemetry.Admin = c.GRPC, c.HTTP, c.Admin
	loaded.Store.Path = filepath.Join(store, "enrichd.db")
	service, err := app.New(ctx, loaded, app.Options{Log: log})
	return service, listenHelp(err, `choose other addresses: make demo DEMO="--grpc 127.0.0.1:0 --http 127.0.0.1:0"`)
}

// show enriches the leads over the API and prints what became of them.
func (c *demoCommand) show(ctx context.Context, terminal terminal, service *app.App, vendors *fakevendor.Server) error {
	leads, err := openLeads(bytes.NewReader(demoLeads), "")
	if err != nil {
		return err
	}
	client, err := serviceFlags{Server: service.GRPCAddress()}.dial()
	if err != nil {
		return err
	}
	defer client.close()
	ask := func(ctx context.Context, lead lead) (*enrichv1.EnrichResponse, error) {
		return client.enrich(ctx, lead.email, question{Lane: "bulk"}, time.Minute)
	}
	if err := vendors.Reset(fakevendor.Reset{Faults: true}); err != nil { // their schedule begins with the first lead
		return err
	}
	table := newDemoTable()
	progress := newProgress(terminal.err, bytes.Count(demoLeads, []byte("\n"))-1)
	err = enrichAll(ctx, leads.next, ask, c.Parallel, func(r result) error {
		table.add(r)
		return progress.Add(1)
	})
	fmt.Fprintln(terminal.err)
	if err != nil {
		return err
	}
	table.print(terminal.out)
	table.printTotals(terminal.out, vendors)
	return nil
}

// printHints shows what to try next.
func printHints(out io.Writer, service *app.App, vendors string) {
	fmt.Fprintf(out, `
Serving on. Try, and stop with Ctrl-C:

  curl -s http://%[1]s/v1/enrich -d '{"email": "mara.lindqvist@northwind.example"}'
  grpcurl -plaintext -d '{"email": "mara.lindqvist@northwind.example"}' %[2]s enrich.v1.EnrichService/Enrich
  curl -s http://%[1]s/v1/leads -d '{"leads": [{"email": "mara.lindqvist@northwind.example"}]}'
  enrichd jobs status --server %[2]s
  curl -s http://%[4]s/metrics
  curl -s %[3]s/_control/    # the fake vendors: ledger, faults, limits
`, service.HTTPAddress(), service.GRPCAddress(), vendors, service.AdminAddress())
}
