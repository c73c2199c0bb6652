package config

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// setExample sets the variables that the example names.
func setExample(t *testing.T) {
	t.Setenv("ENRICHD_PEPPER", "a pepper for tests only")
	t.Setenv("PDL_API_KEY", "key-1")
	t.Setenv("HUNTER_API_KEY", "key-2")
	t.Setenv("SALES_KEY_HASH", "sha256:"+strings.Repeat("0a", 32))
	t.Setenv("OPERATORS_KEY_HASH", "sha256:"+strings.Repeat("0b", 32))
}

func TestTheExampleLoads(t *testing.T) {
	setExample(t)
	loaded, err := Load("enrichd.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Cache.Redis.Pepper != "a pepper for tests only" || loaded.Providers.List[1].Credentials["api_key"] != "key-2" {
		t.Error("the environment was not put in")
	}
	if got := loaded.Answers.Freshness.Attributes["person.email_status"]; got != 72*time.Hour {
		t.Errorf("freshness of person.email_status = %s", got)
	}
}

func TestTheExampleShowsTheDefaults(t *testing.T) {
	setExample(t)
	shown, err := Load("enrichd.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shown.Server, (Config{}).Server.WithDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("server: shown %+v, default %+v", got, want)
	}
	shown.Answers.Freshness.Attributes = nil
	if got, want := shown.Answers.Freshness.StaleFor, (Config{}).Answers.WithDefaults().Freshness.StaleFor; got != want || shown.Answers.RetryBudget != (Config{}).Answers.WithDefaults().RetryBudget {
		t.Errorf("answers: shown %+v", shown.Answers)
	}
	if got, want := shown.Cache.MemoryBytes, (Config{}).Cache.WithDefaults().MemoryBytes; got != want {
		t.Errorf("cache.memory_bytes: shown %d, default %d", got, want)
	}
	if got, want := shown.Router.Backoff, (Config{}).Router.WithDefaults().Backoff; got != want {
		t.Errorf("router.backoff: shown %+v, default %+v", got, want)
	}
	if got, want := shown.Idempotency.KeepFor, (Config{}).Idempotency.WithDefaults().KeepFor; got != want {
		t.Errorf("idempotency.keep_for: shown %s, default %s", got, want)
	}
	if got, want := shown.Quota.Guard, (Config{}).Quota.WithDefaults().Guard; got != want {
		t.Errorf("quota.guard: shown %s, default %s", got, want)
	}
}

func TestAnEmptyFileIsTheDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n"} {
		if _, err := Parse("empty.yaml", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBrokenFiles checks that each file of testdata is refused with what stands
// in its first column here, all at once and each with its line.
func TestBrokenFiles(t *testing.T) {
	broken := map[string][]string{
		"everything_wrong.yaml": {
			"everything_wrong.yaml:2: server.grpc: ", "everything_wrong.yaml:3: server.max_message_bytes: ",
			"everything_wrong.yaml:5: email.fold: ", "everything_wrong.yaml:7: answers.retry_budget: ",
			"cache.redis.pepper: ", "everything_wrong.yaml:12: router.order: ", "everything_wrong.yaml:14: quota.reserve: ",
			"everything_wrong.yaml:17: providers.list[0]",
		},
		"unknown_key.yaml":      {"unknown_key.yaml:3: ", "htpp"},
		"wrong_type.yaml":       {"wrong_type.yaml:2: "},
		"not_yaml.yaml":         {"not_yaml.yaml:"},
		"missing_variable.yaml": {"missing_variable.yaml:2: server.grpc: the environment has no variable ENRICHD_TEST_UNSET", "missing_variable.yaml:3: server.http: "},
		"two_documents.yaml":    {"two_documents.yaml: "},
		"several_types.yaml": {
			":1: log.level: must be one of debug", ":3: server.max_message_bytes: must be a whole number", ":4: server.drain_timeout: must be a time",
			":5: server.allow_remote: must be true or false", ":6: server.htpp: is unknown; there are grpc, http, ", ":7: server.grpc: must be one piece of text",
			":9: answers.retry_budget: must be a time", ":10: answers.freshness.attributes: must be a mapping", ":11: cache: must be a mapping",
			":13: quota.reserve: must be a number", ":14: quota.replicas: must be a whole number", ":15: quota.caps: must be a list", ":16: surprise: is unknown",
		},
		"duplicate_key.yaml": {":4: server.grpc: stands here a second time", ":6: server: stands here a second time"},
		"anchors.yaml":       {":1: server: anchors", ":3: cache: anchors", ":4: email.fold: anchors", "quota: has a key that is not a plain name"},
		"secrets.yaml": {
			":3: cache.redis.password: /dev/zero is not a regular file", ":4: cache.redis.username: what ${ENRICHD_TEST_LINES} stands for has several lines",
			":5: cache.redis.master: ${ is not closed", ":6: cache.redis.prefix: what stands in", ":7: cache.redis.sentinel_username: testdata is not a regular file",
			":8: cache.redis.sentinel_password: stat testdata/../testdata/no-such-file",
			":10: store.postgresql: what ${ENRICHD_TEST_EMPTY} stands for is empty",
		},
		"empty_store.yaml": {"empty_store.yaml:1: store: says nothing"},
		"places.yaml":      {":2: store.postgresql: the connection string cannot be read", ":4: providers.folder: open testdata/no-such-folder"},
		"names.yaml": {
			`:3: router.plans.cheap.providers[1]: there is no provider "nobody"`, `:6: accounts.list[0].providers[0]: there is no provider "nobody"`,
			`:6: accounts.list[0].plan: there is no plan "dear"`, ":6: accounts.list[0].money: quota.caps[0] caps the account already",
			`:10: quota.caps[1].account: there is no account "marketing"`, `:11: quota.caps[2].provider: there is no provider "nobody"`,
			`:12: quota.stopped.providers[0]: there is no provider "nobody"`, `:12: quota.stopped.accounts[0]: there is no account "marketing"`,
			":15: providers.list[0].timeout: 5m0s is not shorter than quota.max_call",
		},
		"listeners.yaml":                    {":2: server.grpc: the port", ":3: server.http: the port", ":3: server.http: is the address of server.grpc"},
		"two_mistakes_in_one_provider.yaml": {`:4: providers.list[0].credentials: hunter has no "api_kye"`, `:7: providers.list[0].settings: hunter has no "nothing"`},
	}
	t.Setenv("ENRICHD_TEST_LINES", "first\nsecond, secret")
	t.Setenv("ENRICHD_TEST_EMPTY", "")
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			_, err := Load(filepath.Join("testdata", file.Name()))
			if err == nil {
				t.Fatal("no error")
			}
			if len(broken[file.Name()]) == 0 {
				t.Fatalf("the test expects nothing of this file; it says: %v", err)
			}
			for _, want := range broken[file.Name()] {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "secret,") || strings.Contains(err.Error(), ", secret") {
				t.Errorf("the error holds a secret:\n%v", err)
			}
		})
	}
}

// TestHugeAndDeepFilesAreRefusedAtOnce gives files that take a YAML parser
// seconds and gigabytes.
func TestHugeAndDeepFilesAreRefusedAtOnce(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":       strings.Repeat("[", 40<<10),
		"a MB of them":   strings.Repeat("[", 1<<20),
		"braces":         strings.Repeat("{a: ", 20<<10),
		"dashes":         strings.Repeat("- ", 40<<10),
		"question marks": strings.Repeat("? ", 40<<10),
		"many keys":      strings.Repeat("a: b\n", 100<<10),
		"too long":       strings.Repeat("# comment\n", 200<<10),
		"aliases":        "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nserver: *c\n",
		"NUL":            "log: {level: info}\x00",
		"not UTF-8":      "log: {level: \xff}",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := Parse("deep.yaml", []byte(text)); err == nil {
				t.Error("no error")
			} else if len(err.Error()) > 2000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
				t.Errorf("took %d MB", took>>20)
			}
		})
	}
	if _, err := Load("/dev/zero"); err == nil {
		t.Error("a device without an end was read")
	}
}

// TestSecretsArePutInAsTheyAre covers texts that YAML alone would read as
// numbers, and what is meant literally.
func TestSecretsArePutInAsTheyAre(t *testing.T) {
	t.Setenv("ENRICHD_TEST_NUMBER", "0123")
	t.Setenv("ENRICHD_TEST_DB", "3")
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(" two words: \"x\" # $ \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := Parse("secrets.yaml", []byte(`
cache:
  redis:
    addresses: [127.0.0.1:6379]
    pepper: 12345678901234567890
    username: ${ENRICHD_TEST_NUMBER}
    password: ${file:`+path+`}
    sentinel_password: $${NOT_A_VARIABLE} costs 5$
    sentinel_username: 1e5
    db: ${ENRICHD_TEST_DB}
`))
	if err != nil {
		t.Fatal(err)
	}
	redis := loaded.Cache.Redis
	for got, want := range map[string]string{
		redis.Pepper: "12345678901234567890", redis.Username: "0123", redis.Password: ` two words: "x" # $ `,
		redis.SentinelPassword: "${NOT_A_VARIABLE} costs 5$", redis.SentinelUsername: "1e5",
	} {
		if got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	}
	if redis.DB != 3 {
		t.Errorf("db = %d, want 3", redis.DB)
	}
	if err := os.WriteFile(path, make([]byte, mostSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&secrets{}).expand("${file:" + path + "}"); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a long secret: %v", err)
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&secrets{}).expand("${file:" + path + "}"); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty secret: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	for text, want := range map[string]int{
		"server: {drain_timeout: 5s}":      1,
		"answers: {retry_budget: 10m}":     1,
		"server: {drain_timeout: 1m}":      0,
		"answers: {retry_budget: 20s}":     0,
		"server: {drain_timeout: 45000ms}": 0,
		"privacy: {}":                      1,
		"providers: {}":                    1,
		"privacy: {pepper: invented-for-a-test, redis: {addresses: [\"localhost:1\"]}}": 2, // caches and repeats are not shared
		"quota: {redis: {addresses: [\"localhost:1\"]}}":                                3, // nor is the suppression list
		"quota: {replicas: 2}":                                3,
		"quota: {replicas: 1}":                                0,
		"store: {postgresql: \"postgres://localhost/leads\"}": 3,
		"store: {path: leads.db}":                             0,
		"privacy: {}\nquota: {replicas: 2}":                   3, // in memory alone: told once
	} {
		if !strings.HasPrefix(text, "providers") {
			text += "\nproviders: {list: [{definition: hunter, credentials: {api_key: invented}}]}"
		}
		if !strings.HasPrefix(text, "privacy") {
			text += "\nprivacy: {pepper: invented-for-a-test, suppression: {file: suppressed}}"
		}
		loaded, err := Parse("warned.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := loaded.Warnings(); len(got) != want {
			t.Errorf("%q: %q, want %d warnings", text, got, want)
		}
	}
}

// FuzzParse checks that no text makes the reading panic, whatever the YAML
// library does.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"server: {grpc: x}", "a: &x [*x]", "- - ? : -", "%YAML 1.2\n---\nlog: {level: info}", "cache:\n  redis: |\n    x\n", "<<: *a", "? [a]\n: b", "'", "a: !!binary x", "quota: {caps: [{day: 1}]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "definition") || strings.Contains(text, "file") || strings.Contains(text, "folder") {
			t.Skip("would read files")
		}
		_, _ = Parse("fuzz.yaml", []byte(text))
	})
}
