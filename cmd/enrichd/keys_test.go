package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/accounts"
)

// TestKeysNew makes a key, pastes what it prints into a configuration, and is let
// in.
func TestKeysNew(t *testing.T) {
	code, out, said := command(t, "", "keys", "new", "--account", "sales")
	key := strings.TrimSpace(out)
	hash := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(said)
	if code != 0 || !strings.Contains(said, "- name: sales\n") || strings.Contains(said, key) {
		t.Fatalf("exit code %d: %s", code, said)
	}
	registry, err := accounts.New(accounts.Config{List: []accounts.Account{{Name: "sales", Keys: []accounts.Key{{Hash: hash}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if caller, known := registry.ByKey(key); !known || caller.Account.Name != "sales" {
		t.Error("the key is not let in")
	}
	if code, again, _ := command(t, key+"\r\n", "keys", "hash"); code != 0 || strings.TrimSpace(again) != hash {
		t.Errorf("exit code %d, hashed as %s", code, again)
	}

	var made newKey
	code, out, said = command(t, "", "keys", "new", "--json")
	if err := json.Unmarshal([]byte(out), &made); code != 0 || said != "" || err != nil || made.Key == key {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, said)
	}
	if hash, err := accounts.HashKey(made.Key); err != nil || hash != made.Hash {
		t.Errorf("the hash is %s, %v", made.Hash, err)
	}
}

func TestKeysRefuseSlips(t *testing.T) {
	short := accounts.NewKey()[:52]
	for _, input := range []string{"", short, "x" + short, strings.Repeat("x", 1<<20)} {
		code, out, said := command(t, input, "keys", "hash")
		if code != 1 || out != "" || !strings.Contains(said, "this is no key") || strings.Contains(said, short) {
			t.Errorf("exit code %d: %s%s", code, out, said)
		}
	}
	if code, out, said := command(t, "", "keys", "new", "--account", "Sales Team"); code != 1 || out != "" || !strings.Contains(said, "--account") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	if code, _, _ := command(t, "", "keys", "hash", accounts.NewKey()); code != 2 {
		t.Errorf("a key as an argument: exit code %d", code)
	}
}
