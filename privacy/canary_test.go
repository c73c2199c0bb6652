package privacy

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/idempotency"
)

const (
	canaryLocal  = "zaphod.canary"
	canaryDomain = "canary-orchard.example"
	canary       = canaryLocal + "@" + canaryDomain
)

// sighted names the forms of the canary that a text holds. A domain names a
// company, but together with a tag it would name the person too.
func sighted(text string) (forms []string) {
	text = strings.ToLower(text)
	for name, form := range map[string]string{
		"plain": canaryLocal, "domain": canaryDomain, "in a URL": "zaphod.canary%40",
		"base64": strings.ToLower(base64.StdEncoding.EncodeToString([]byte(canary))[:20]), "hexadecimal": hex.EncodeToString([]byte(canary)),
	} {
		if strings.Contains(text, form) {
			forms = append(forms, name)
		}
	}
	return forms
}

// TestTheCanaryIsSeenNowhere sends one address through suppression, audit,
// repeated answers and erasure, while all is well and while everything fails,
// and looks for it in every file, log, error and in all of Redis.
func TestTheCanaryIsSeenNowhere(t *testing.T) {
	server, folder := redistest.Start(t), t.TempDir()
	config := Config{
		Pepper: pepper, Redis: redisOf(server),
		Suppression: SuppressionConfig{File: filepath.Join(folder, "list")},
		Audit:       AuditConfig{File: filepath.Join(folder, "audit.jsonl"), MaxBytes: 1024},
	}
	var log logged
	list, err := NewSuppressions(config, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	audit, err := NewAudit(config, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close()
	answers, err := idempotency.New(idempotency.Config{Pepper: pepper, Redis: config.Redis}, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	eraser := &Eraser{Tags: NewTagger(pepper), Suppressions: list, Audit: audit, Log: log.logger(), Places: []Place{
		{Name: "answers", Erase: answers.EraseSubject},
	}}
	key := keyOf(t, canary)
	var said strings.Builder
	say := func(things ...any) { fmt.Fprintf(&said, "%v %+v\n", things, things) }
	live := func() {
		entry := entryOf(t, canary)
		entry.Person, entry.Company = key, companyOf(t, canaryDomain)
		entry.Purpose, entry.Consent = canary, enrich.Consent{Basis: canary, Source: "mail from " + canary}
		audit.Audit(entry)
		for _, fingerprint := range []byte{1, 1, 2} {
			_, err := answers.Do(t.Context(), "sales", canary, [32]byte{fingerprint}, func(context.Context) ([]byte, []email.Key, error) {
				return []byte(`{"email":"` + canary + `"}`), []email.Key{key}, nil
			})
			say(err)
		}
		_, err := answers.Do(t.Context(), "sales", "failing "+canary, [32]byte{1}, func(context.Context) ([]byte, []email.Key, error) {
			return nil, nil, errors.New("broken")
		})
		say(err)
		is, err := list.Suppressed(key)
		say(is, err, key, entry.Person)
	}
	dumpAll := func() string { return dump(t, directly(t, server), folder) }

	live()
	eventually(t, "the entry is written", func() bool { return audit.Stats().Written > 0 })
	before := dumpAll()
	if !strings.Contains(before, "enrichd:idem:") || !strings.Contains(before, NewTagger(pepper).Tag(key).String()) {
		t.Error("the test looks at nothing")
	}
	if forms := sighted(before); forms != nil {
		t.Errorf("seen before the erasure: %v", forms)
	}

	server.Pause()
	live()
	proof, err := eraser.Erase(t.Context(), key)
	say(proof, err)
	server.Resume()
	eventually(t, "the erasure is complete", func() bool {
		proof, err := eraser.Erase(t.Context(), key)
		say(proof, err)
		return err == nil && proof.Complete()
	})
	live()
	if !suppressed(t, list, key) {
		t.Error("an erased subject is looked up")
	}
	audit.Close()
	for name, text := range map[string]string{"Redis and files": dumpAll(), "the log": log.String(), "errors and proofs": said.String()} {
		if forms := sighted(text); forms != nil {
			t.Errorf("%s hold the canary: %v", name, forms)
		}
	}
	if sighted("x "+canary) == nil || sighted(base64.StdEncoding.EncodeToString([]byte(canary))) == nil {
		t.Error("the canary would not be seen")
	}
}

// dump is everything in Redis, as it is stored, and in the files of a folder.
func dump(t *testing.T, client *redis.Client, folder string) string {
	t.Helper()
	var all strings.Builder
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		all.WriteString(key + "\n")
		switch client.Type(t.Context(), key).Val() {
		case "string":
			all.WriteString(client.Get(t.Context(), key).Val())
		case "zset":
			all.WriteString(strings.Join(client.ZRange(t.Context(), key, 0, -1).Val(), "\n"))
		case "stream":
			for _, entry := range client.XRange(t.Context(), key, "-", "+").Val() {
				fmt.Fprintln(&all, entry.Values)
			}
		default:
			t.Errorf("%s is of a type that the test does not know", key)
		}
	}
	if err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
