package fakevendor

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

func TestTheExampleLoads(t *testing.T) {
	file, err := os.Open("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	config, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(server.Vendors(), " "); got != "backup hunter peopledatalabs" {
		t.Errorf("vendors %s", got)
	}
	pdl := config.Vendors["peopledatalabs"]
	if pdl.Faults.Latency.Median != 60*time.Millisecond || pdl.Limits.Rules[0].Shape != strict.TokenBucket || pdl.Data.Miss != 0.25 {
		t.Errorf("read %+v", pdl)
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	_, err := Parse(strings.NewReader("seed: 1\nvendors:\n  hunter:\n    fautls: {}\n"))
	if err == nil || !strings.Contains(err.Error(), "4:5") || !strings.Contains(err.Error(), "fautls") {
		t.Errorf("got %v, want the key and where it stands", err)
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	config, err := Parse(strings.NewReader(`
ledger_entries: -1
vendors:
  acme: {}
  _control: {dialect: hunter}
  Upper: {dialect: hunter}
  hunter:
    account: {keys: [""], credits: -5}
    limits: {rules: [{shape: sliding}], hint: {form: smoke}}
    data: {miss: 2}
    faults: {latency: {sigma: -1}, rules: [{kind: boredom}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(config)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"ledger_entries", "vendors.acme.dialect", "vendors._control.a vendor's name", "vendors.Upper.a vendor's name", "vendors.hunter.account.keys",
		"vendors.hunter.account.credits", "vendors.hunter.limits.limits[0]: window", "vendors.hunter.limits.hint.form",
		"vendors.hunter.data.miss", "vendors.hunter.faults.latency.sigma", "vendors.hunter.faults.rules[0]: kind",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s in:\n%v", want, err)
		}
	}
}

func TestAZeroVendorIsThePublishedOne(t *testing.T) {
	server, err := New(Config{Vendors: map[string]Vendor{"hunter": {}}})
	if err != nil {
		t.Fatal(err)
	}
	set := server.vendors["hunter"].settings.Load()
	if len(set.Limits.Rules) != 4 || set.Limits.Rules[1].Amount != 500 || set.Account.Prices["person"] != 24_500 || set.Data.Miss == 0 {
		t.Errorf("got %+v", set)
	}
}

func TestServerFindsSubjectsForTests(t *testing.T) {
	server, err := New(Config{Seed: 5, Vendors: map[string]Vendor{"peopledatalabs": {}, "hunter": {}}})
	if err != nil {
		t.Fatal(err)
	}
	both := 0
	for i := range 200 {
		address := "ada" + strings.Repeat("a", i%20) + ".north" + strings.Repeat("h", i/20) + "@blue-river.example"
		if server.Knows("peopledatalabs", address) && server.Knows("hunter", address) {
			both++
		}
	}
	if both < 80 || both > 130 { // 0.75 · 0.70 of 200
		t.Errorf("both know %d of 200", both)
	}
	if server.Knows("nobody", ada) || server.Knows("hunter", "gmail.com") {
		t.Error("knows what nobody can")
	}
	if got := server.Truth("info@blue-river.example"); got["person.email_status"] != "role" || len(got) != 1 {
		t.Errorf("truth about a shared mailbox: %v", got)
	}
	if got := server.Truth("blue-river.example"); got["company.name"] != "Blue River" {
		t.Errorf("truth about a company: %v", got)
	}
}
