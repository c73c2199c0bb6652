package accounts

import (
	"regexp"
	"strings"
	"testing"
)

func TestKeysAreRandomAndHashable(t *testing.T) {
	form := regexp.MustCompile(`^enr_[0-9A-Za-z]{49}$`)
	seen, first := map[string]bool{}, map[byte]bool{}
	for range 2000 {
		key := NewKey()
		hash, err := HashKey(key)
		if !form.MatchString(key) || err != nil || seen[key] || seen[hash] {
			t.Fatalf("a key of %d characters, %v, seen before: %v", len(key), err, seen[key])
		}
		seen[key], seen[hash] = true, true
		first[key[len(keyPrefix)]] = true
		if parsed, err := parseHash(hash); err != nil || parsed != digestOf(key) {
			t.Fatalf("the printed hash reads as another: %v", err)
		}
	}
	if len(first) != len(alphabet) {
		t.Errorf("only %d of %d characters are used", len(first), len(alphabet))
	}
}

func TestHashKeyRefusesSlips(t *testing.T) {
	key := NewKey()
	swapped := []byte(key)
	for i := len(keyPrefix); swapped[i] == swapped[i+1] || string(swapped) == key; i++ {
		copy(swapped, key)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
	}
	for name, text := range map[string]string{
		"nothing":        "",
		"cut short":      key[:len(key)-1],
		"too long":       key + "0",
		"swapped":        string(swapped),
		"another prefix": "key_" + key[4:],
		"a line break":   key[:len(key)-1] + "\n",
	} {
		hash, err := HashKey(text)
		if err == nil || hash != "" {
			t.Errorf("%s has the hash %q", name, hash)
		} else if text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error repeats the text", name)
		}
	}
}

// FuzzKey checks that nothing but keys has a hash, and that nothing a caller
// sends upsets the look-up.
func FuzzKey(f *testing.F) {
	f.Add("")
	f.Add("enr_")
	f.Add(NewKey())
	f.Add(strings.Repeat("\xff", keyLength))
	mine := NewKey()
	registry := mustRegistry(f, Config{List: []Account{{Name: "sales", Keys: []Key{{Hash: mustHash(f, mine)}}}}})
	f.Fuzz(func(t *testing.T, text string) {
		if hash, err := HashKey(text); err == nil {
			sum := sumOf(text[:keyLength-sumLength])
			if parsed, err := parseHash(hash); err != nil || parsed != digestOf(text) || !strings.HasSuffix(text, string(sum[:])) {
				t.Errorf("%q passes as a key", text)
			}
		}
		if caller, known := registry.ByKey(text); known != (text == mine) {
			t.Errorf("%q leads to %q", text, caller.Account.Name)
		}
		registry.ByName(text)
		if hash, err := parseHash(text); err == nil && !strings.HasPrefix(text, hashPrefix) {
			t.Errorf("%q passes as the hash %x", text, hash)
		}
	})
}
