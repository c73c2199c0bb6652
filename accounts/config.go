package accounts

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Config lists who may ask. The zero Config has nobody: whether an unknown
// caller is let in then is the edge's matter.
type Config struct {
	// List of the accounts. Default none.
	List []Account `yaml:"list"`
}

// Account is one caller: a team or an integration. What it may do is here; what
// its requests ask for is theirs to say.
type Account struct {
	// Name is the account's label in metrics, logs and caps: lower-case letters,
	// digits, dots, dashes and underscores. Required, once.
	Name string `yaml:"name"`
	// Keys are the account's API keys, any number at once, so that a new one can
	// be handed out before the old one ends. Default none.
	Keys []Key `yaml:"keys"`
	// Certificates names client certificates that stand for a key: a URI
	// (spiffe://…), a host name or a common name that the certificate, which the
	// TLS listener has verified, was issued for. Default none.
	Certificates []string `yaml:"certificates"`
	// Admin is the right to call the operators' methods: to pause providers, to
	// drop and to erase subjects, and to lift suppressions. Default false.
	Admin bool `yaml:"admin"`
	// Paused stops all calls to vendors for the account, at once; what is cached
	// is answered on. Default false.
	Paused bool `yaml:"paused"`
	// Weight is the account's share of scarce calls next to the others'.
	// Default 1.
	Weight int `yaml:"weight"`
	// Lanes the account may use. Default all.
	Lanes []enrich.Lane `yaml:"lanes"`
	// Attributes the account may see. Default all.
	Attributes []enrich.Attribute `yaml:"attributes"`
	// Providers that may be asked for the account. Default all.
	Providers []string `yaml:"providers"`
	// RoleAddresses allows to buy facts about the person behind an address such
	// as sales@. Default false.
	RoleAddresses bool `yaml:"role_addresses"`
	// DisposableAddresses allows to buy facts about the person behind a
	// throw-away address. Default false.
	DisposableAddresses bool `yaml:"disposable_addresses"`
	// Purposes lists what the account may process data for, each with the
	// attributes it may see for it (nothing: those of Attributes). With any,
	// every request must name one. Default none, and none is asked for.
	Purposes map[string][]enrich.Attribute `yaml:"purposes"`
	// Plan is the router's plan for the account. Default the router's default.
	Plan string `yaml:"plan"`
	// Trial uses another plan for a part of the account's subjects. Default none.
	Trial Trial `yaml:"trial"`
	// Shadow runs another plan whose answers are only compared. Default none.
	Shadow Shadow `yaml:"shadow"`
	// Money is the most that vendors may charge for the account. Default no cap.
	Money Money `yaml:"money"`
	// Rate is how often the account may ask. Default as often as it likes.
	Rate Rate `yaml:"rate"`
}

// Key is one API key, known only by its hash.
type Key struct {
	// Hash of the key, as enrichd keys new prints it: sha256: and 64 hexadecimal
	// digits. Required.
	Hash string `yaml:"hash"`
	// NotAfter is when the key ends, such as 2027-01-31T00:00:00Z. Default never.
	NotAfter time.Time `yaml:"not_after"`
}

// Trial has a plan used for a share of subjects, always the same ones.
type Trial struct {
	// Plan to try. Default none.
	Plan string `yaml:"plan"`
	// Percent of the subjects, from 0 to 100. Default 0.
	Percent int `yaml:"percent"`
}

// Shadow is a plan that runs beside the account's own.
type Shadow struct {
	// Plan to run. Default none.
	Plan string `yaml:"plan"`
	// DayCap is the most its calls may cost in a UTC day, in micros. Default 0:
	// only what has no price is asked.
	DayCap enrich.Micros `yaml:"day_cap"`
}

// Money caps what vendors may charge for an account.
type Money struct {
	// Day is the most per calendar day in micros. Default 0: no cap.
	Day enrich.Micros `yaml:"day"`
	// Month is the most per calendar month in micros. Default 0: no cap.
	Month enrich.Micros `yaml:"month"`
	// Zone is the IANA time zone of days and months. Default UTC.
	Zone string `yaml:"zone"`
}

// Rate is how often an account may ask. Every process counts by itself: with
// three replicas behind a balancer an account may ask up to three times as often.
type Rate struct {
	// Requests is how many may come in any window, and at once. Each question of
	// a batch or a stream is one. Default 0: no limit.
	Requests int64 `yaml:"requests"`
	// Window of time. Default 1m.
	Window time.Duration `yaml:"window"`
}

// WithDefaults returns c with its zero fields set. It leaves c's list alone.
func (c Config) WithDefaults() Config {
	list := make([]Account, len(c.List))
	for i, account := range c.List {
		list[i] = account.withDefaults()
	}
	c.List = list
	return c
}

func (a Account) withDefaults() Account {
	if a.Weight == 0 {
		a.Weight = 1
	}
	if a.Rate.Window == 0 {
		a.Rate.Window = time.Minute
	}
	return a
}
