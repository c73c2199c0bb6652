package providers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func TestSetKeepsTheListedOrder(t *testing.T) {
	credentials := map[string]string{"api_key": "k"}
	set, err := New(Config{List: []ProviderConfig{
		{Definition: "hunter", Credentials: credentials, Name: "second_opinion"},
		{Definition: "peopledatalabs", Credentials: credentials},
		{Definition: "hunter", Credentials: credentials, Attributes: []enrich.Attribute{"person.email_status"}},
	}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if names := set.Names(); !slices.Equal(names, []string{"second_opinion", "peopledatalabs", "hunter"}) {
		t.Errorf("names %v", names)
	}
	for attribute, want := range map[enrich.Attribute][]string{
		"person.title":           {"second_opinion", "peopledatalabs"},
		"person.email_status":    {"second_opinion", "hunter"},
		"company.technologies":   {"second_opinion"},
		"company.employee_range": {"second_opinion", "peopledatalabs"},
	} {
		if got := set.Sources(attribute); !slices.Equal(got, want) {
			t.Errorf("%s from %v, want %v", attribute, got, want)
		}
	}
	if set.Vendor("hunter").Timeout() != 10*time.Second || set.Vendor("nobody") != nil {
		t.Error("vendors are found wrongly")
	}
}

func TestChooseTakesTheCallThatSuppliesMost(t *testing.T) {
	set, err := New(Config{List: []ProviderConfig{{Definition: "hunter", Credentials: map[string]string{"api_key": "k"}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for _, test := range []struct {
		kind   enrich.SubjectKind
		wanted []enrich.Attribute
		want   string
	}{
		{enrich.Person, []enrich.Attribute{"person.email_status"}, "verify"},
		{enrich.Person, []enrich.Attribute{"person.email_status", "person.title"}, "person"},
		{enrich.Company, []enrich.Attribute{"company.name"}, "company"},
		{enrich.Company, []enrich.Attribute{"person.title"}, ""},
	} {
		call, ok := set.Vendors()[0].Choose(test.kind, test.wanted)
		if call.Operation != test.want || ok != (test.want != "") {
			t.Errorf("%v: %s, want %s", test.wanted, call.Operation, test.want)
		}
	}
}

func TestAccountsOverrideTheDefinition(t *testing.T) {
	credit := 0.5
	config := ProviderConfig{
		Definition: "peopledatalabs", Credentials: map[string]string{"api_key": "k"}, Plan: "free", Credit: &credit, Credits: map[string]float64{"company": 0.2},
	}
	set, err := New(Config{List: []ProviderConfig{config}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	vendor := set.Vendors()[0]
	if limits := vendor.Limits(); len(limits) != 2 || limits[0].Amount != 100 || limits[0].Window != time.Minute {
		t.Errorf("limits %+v", limits)
	}
	for operation, want := range map[string]enrich.Micros{"person": 500_000, "company": 200_000} {
		for _, call := range vendor.Calls() {
			if call.Operation == operation && call.Price != enrich.KnownCharge(want) {
				t.Errorf("%s costs %+v, want %d", operation, call.Price, want)
			}
		}
	}
	config.Limits = []enrich.Limit{{Name: "own", Shape: enrich.Sliding, Amount: 5, Window: time.Second}}
	if set, err = New(Config{List: []ProviderConfig{config}}, Options{}); err != nil {
		t.Fatal(err)
	}
	if limits := set.Vendors()[0].Limits(); len(limits) != 1 || limits[0].Name != "own" {
		t.Errorf("limits %+v", limits)
	}
}

// TestBadConfigurations makes sure that all problems are reported at once.
func TestBadConfigurations(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "broken.yaml"), []byte("name: broken\ncolour: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	minus := -1.0
	_, err := New(Config{Folder: folder, Proxy: "proxy:3128", List: []ProviderConfig{
		{},
		{Definition: "nobody"},
		{Definition: "broken"},
		{Definition: "hunter"},
		{Definition: "hunter", Credentials: map[string]string{"api_key": "k", "password": "p"}, Settings: map[string]string{"x": "y"}, Plan: "gold",
			BaseURL: "ftp://x", Timeout: -1, Credits: map[string]float64{"search": -1}, Credit: &minus, Attributes: []enrich.Attribute{"person.fax"}},
		{Definition: "hunter", Credentials: map[string]string{"api_key": "k"}, BaseURL: "http://api.hunter.example"},
		{Definition: "hunter", Credentials: map[string]string{"api_key": "k"}, Attributes: []enrich.Attribute{"company.revenue_range"}},
		{Definition: "hunter", Credentials: map[string]string{"api_key": "k"}},
		{Definition: "hunter", Credentials: map[string]string{"api_key": "k"}},
	}}, Options{})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"proxy: must be", "list[0]: definition: is missing", `list[1]: definition: there is no definition "nobody"`,
		"broken.yaml:2: unknown key \"colour\"", "title is missing", "list[3]: credentials: api_key is missing",
		`credentials: hunter has no "password"`, `settings: hunter has no "x"`, `plan: hunter has no "gold"`, "base_url: must be an address",
		"must not be negative", `credits: hunter has no "search"`, `no attribute "person.fax"`, "list[5]: base_url: calls without TLS",
		"list[6]: it offers no call", `list[8]: name: "hunter" is taken`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported", want)
		}
	}
	if strings.Contains(err.Error(), "list[7]") {
		t.Error("a good provider is reported")
	}
}

func TestTheOperatorsFolderGoesFirst(t *testing.T) {
	folder := t.TempDir()
	definition := "name: hunter\ntitle: Our own\nas_of: 2026-11-29\nbase_url: https://api.hunter.example\n" + plain
	if err := os.WriteFile(filepath.Join(folder, "hunter.yaml"), []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	library := NewLibrary(folder)
	loaded, err := library.Load("hunter")
	if err != nil || loaded.Title != "Our own" {
		t.Errorf("%+v %v", loaded, err)
	}
	names, err := library.Names()
	if err != nil || names[0] != "hunter" || !slices.Contains(names, "peopledatalabs") || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("%v %v", names, err)
	}
	if err := Check(library, "hunter"); err == nil || !strings.Contains(err.Error(), "no recorded exchanges") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "hunter.exchanges.json"), []byte(`{"name":"hit","query":{"email":"jo@acme.example"},"exchanges":[{"status":200,"body":{"name":"Jo"}}],"expect":{"outcome":"miss"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	err = Check(library, "hunter")
	if err == nil || !strings.Contains(err.Error(), `outcome: got "partial", want "miss"`) || !strings.Contains(err.Error(), "hunter.yaml:8: no recorded exchange reaches this rule (miss)") {
		t.Errorf("%v", err)
	}
}
