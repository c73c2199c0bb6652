package trial_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/trial"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// office has a service with TLS, whom nobody may ask without a certificate and a
// purpose.
type office struct {
	dir       string
	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	service   *fleet.Process
	vendors   string // address of the vendors
}

// issue writes a certificate, NAME.pem, and its key, NAME.key. The first is the
// authority.
func (o *office) issue(t *testing.T, name string, template *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if o.authority == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		o.authority, o.key = template, key
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, o.authority, &key.PublicKey, o.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	o.write(t, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
	o.write(t, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

func (o *office) path(name string) string { return filepath.Join(o.dir, name) }

func (o *office) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(o.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newOffice(ctx context.Context, t *testing.T, binary string) *office {
	t.Helper()
	o := &office{dir: t.TempDir()}
	o.issue(t, "ca", &x509.Certificate{})
	o.issue(t, "service", &x509.Certificate{DNSNames: []string{"enrichd.example"}})
	o.issue(t, "caller", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	(&office{dir: o.dir}).issue(t, "other", &x509.Certificate{DNSNames: []string{"enrichd.example"}})
	key := accounts.NewKey()
	hash, err := accounts.HashKey(key)
	if err != nil {
		t.Fatal(err)
	}
	o.write(t, "key.txt", key)
	vendors, err := fleet.StartVendors(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{"peopledatalabs": {Data: &fakevendor.Data{}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vendors.Stop)
	o.vendors = strings.TrimSuffix(strings.TrimPrefix(vendors.URL(""), "http://"), "/")
	service, err := fleet.StartReplica(ctx, binary, o.dir, "office", fleet.Merge(fleet.BaseConfig(""), fleet.Config{
		"server": fleet.Config{"tls": fleet.Config{
			"cert_file": o.path("service.pem"), "key_file": o.path("service.key"), "client_ca_file": o.path("ca.pem"), "require_client": true,
		}},
		"accounts":  fleet.Config{"list": []any{fleet.Config{"name": "team", "keys": []any{fleet.Config{"hash": hash}}, "purposes": fleet.Config{"sales": nil}}}},
		"providers": fleet.Config{"list": []any{vendors.Provider("peopledatalabs", "peopledatalabs", nil)}},
	}), fleet.AnyCore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Stop)
	o.service = service.Current()
	return o
}

// TLS of a target, with its files in the office's folder.
func (o *office) tls(authority, caller, name string) string {
	text := fmt.Sprintf("ca_file: %s, server_name: %q", o.path(authority+".pem"), name)
	if caller != "" {
		text += fmt.Sprintf(", cert_file: %s, key_file: %s", o.path(caller+".pem"), o.path(caller+".key"))
	}
	return text
}

func (o *office) scenario(t *testing.T, tls, traffic string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("office.yaml", strings.NewReader(fmt.Sprintf(`
length: 2s
target: {grpc: %q, rest: %q, vendors: %q, key_file: %s, tls: {%s}}
traffic: [%s]
slo: [failed_share <= 0]
`, o.service.GRPC, o.service.REST, o.vendors, o.path("key.txt"), tls, traffic)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// testATargetWithTLS asks a service that wants certificates and purposes in every
// way, and is refused without them.
func testATargetWithTLS(ctx context.Context, t *testing.T, binary string) {
	o := newOffice(ctx, t, binary)
	const ways = `{name: clicks, rate: 10, purpose: sales}, {name: pages, via: rest, rate: 10, purpose: sales},
  {name: lists, via: batch, batch: 5, workers: 1, leads: 10, purpose: sales}, {name: feed, via: stream, batch: 5, workers: 1, leads: 10, purpose: sales}`
	r, err := trial.Run(ctx, o.scenario(t, o.tls("ca", "caller", "enrichd.example"), ways), trial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, traffic := range r.Traffic {
		if traffic.Tally.Answered < 10 || traffic.Tally.Failed() > 0 {
			t.Errorf("%s: %d answers, %v", traffic.Name, traffic.Tally.Answered, traffic.Tally.Codes)
		}
	}
	if r.Figures["vendor_calls"] < r.Figures["answered"]/2 {
		t.Errorf("%v vendor calls for %v answers to leads that nobody had asked for", r.Figures["vendor_calls"], r.Figures["answered"])
	}
	r, err = trial.Run(ctx, o.scenario(t, o.tls("ca", "caller", "enrichd.example"), "{name: clicks, leads: 5, workers: 1}, {name: pages, via: rest, leads: 5, workers: 1, purpose: resale}"), trial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if nobody, refused := r.Traffic[0].Tally.Codes, r.Traffic[1].Tally.Codes; nobody["InvalidArgument"] != 5 || refused["PermissionDenied"] != 5 {
		t.Errorf("without a purpose %v, with another's %v", nobody, refused)
	}
	for tls, want := range map[string]string{
		o.tls("ca", "", "enrichd.example"):          "certificate required",
		o.tls("ca", "other", "enrichd.example"):     "certificate",
		o.tls("ca", "caller", ""):                   "127.0.0.1",
		o.tls("ca", "caller", "another.example"):    "another.example",
		o.tls("other", "caller", "enrichd.example"): "unknown authority",
		fmt.Sprintf("server_name: enrichd.example, cert_file: %s, key_file: %s", o.path("caller.pem"), o.path("caller.key")): "unknown authority", // to the system
	} {
		for _, via := range []string{"grpc", "rest"} {
			_, err := trial.Run(ctx, o.scenario(t, tls, "{name: clicks, purpose: sales, via: "+via+"}"), trial.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), "target: 127.0.0.1:") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, {%s}: error %v, want %q", via, strings.ReplaceAll(tls, o.dir, ""), err, want)
			}
		}
	}
}
