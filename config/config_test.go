package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheExampleLoads(t *testing.T) {
	t.Setenv("ENRICHD_PEPPER", "a pepper for tests only")
	t.Setenv("PDL_API_KEY", "key-1")
	t.Setenv("HUNTER_API_KEY", "key-2")
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
	t.Setenv("ENRICHD_PEPPER", "a pepper for tests only")
	t.Setenv("PDL_API_KEY", "key-1")
	t.Setenv("HUNTER_API_KEY", "key-2")
	shown, err := Load("enrichd.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shown.Server, (Config{}).Server.WithDefaults(); got != want {
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
	}
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
		})
	}
}
