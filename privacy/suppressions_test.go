package privacy

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

func TestInMemory(t *testing.T) {
	list, err := NewSuppressions(Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	ada, acme := keyOf(t, "ada@orchard.example"), companyOf(t, "acme.example")
	if suppressed(t, list, ada) || suppressed(t, list, email.Key{}) {
		t.Error("somebody is on an empty list")
	}
	if kept := add(t, list, ada); kept != (Kept{Changed: true}) {
		t.Errorf("kept in %+v, want in memory alone", kept)
	}
	add(t, list, ada)
	add(t, list, acme)
	add(t, list, email.Key{})
	if !suppressed(t, list, ada) || !suppressed(t, list, acme) || suppressed(t, list, keyOf(t, "ada@acme.example")) || list.Len() != 2 {
		t.Errorf("the list of two has %d", list.Len())
	}
	if _, err := list.Remove(t.Context(), ada); err != nil || suppressed(t, list, ada) || list.Len() != 1 {
		t.Errorf("after a removal it has %d, %v", list.Len(), err)
	}
	add(t, list, ada)
	if !suppressed(t, list, ada) {
		t.Error("who was removed cannot come back")
	}
}

// TestAliasesAreOnePerson checks that nobody is looked up under another spelling
// of an address, whatever the profile of the keys was and is.
func TestAliasesAreOnePerson(t *testing.T) {
	consumer, err := email.New(email.Config{Fold: email.ProfileConsumer})
	if err != nil {
		t.Fatal(err)
	}
	folded := func(address string) email.Key {
		a, err := consumer.Normalize(address)
		if err != nil {
			t.Fatal(err)
		}
		return a.Key()
	}
	list := startList(t, Config{})
	add(t, list, keyOf(t, "J.Doe+list@gmail.com"))
	for _, key := range []email.Key{keyOf(t, "jdoe@googlemail.com"), folded("j.d.o.e@gmail.com"), folded("j.doe+list@gmail.com")} {
		if !suppressed(t, list, key) {
			t.Error("an alias is looked up")
		}
	}
	if suppressed(t, list, keyOf(t, "jdoe2@gmail.com")) {
		t.Error("another person is suppressed")
	}
}

func TestTheListIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	config := Config{Suppression: SuppressionConfig{MaxEntries: 3, File: file}}
	list := startList(t, config)
	for i := range 3 {
		add(t, list, keyOf(t, fmt.Sprintf("ada%d@orchard.example", i)))
	}
	_, err := list.Add(t.Context(), keyOf(t, "bob@orchard.example"))
	if !errors.Is(err, errFull) || list.Len() != 3 {
		t.Errorf("the fourth of three: %v, %d entries", err, list.Len())
	}
	if _, err := list.Add(t.Context(), keyOf(t, "ada1@orchard.example")); err != nil {
		t.Errorf("one of the three again: %v", err)
	}
	list.Close()
	config.Suppression.MaxEntries = 2
	config.Pepper = pepper
	if _, err := NewSuppressions(config, silent()); !errors.Is(err, errFull) {
		t.Errorf("a file of three in a list of two: %v", err)
	}
}

// TestTheEditionTellsOfEveryAddition, and of nothing else that matters.
func TestTheEditionTellsOfEveryAddition(t *testing.T) {
	list := startList(t, Config{})
	edition := func() uint64 {
		t.Helper()
		edition, err := list.Edition()
		if err != nil {
			t.Fatal(err)
		}
		return edition
	}
	ada, bob := keyOf(t, "ada@orchard.example"), keyOf(t, "bob@orchard.example")
	empty := edition()
	add(t, list, ada)
	one := edition()
	add(t, list, ada)
	again := edition()
	if err := list.merge(change{list.tags.Tag(bob), stamp(time.Now().UnixMicro())}, copyRedis); err != nil {
		t.Fatal(err)
	}
	heard := edition()
	if _, err := list.Remove(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	add(t, list, ada)
	if back := edition(); one == empty || again != one || heard == one || back == heard {
		t.Errorf("editions %d, %d, %d, %d, %d", empty, one, again, heard, back)
	}
}

func TestAFileKeepsTheList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	config := Config{Suppression: SuppressionConfig{File: file}}
	ada, bob, cy := keyOf(t, "ada@orchard.example"), keyOf(t, "bob@orchard.example"), keyOf(t, "cy@orchard.example")
	first := startList(t, config)
	if kept := add(t, first, ada); kept != (Kept{InFile: true, Changed: true}) {
		t.Errorf("kept in %+v", kept)
	}
	add(t, first, bob)
	if _, err := first.Remove(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	// Nothing is closed: the process was killed while it wrote a line.
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "ada") {
		t.Fatalf("%v, or the file names her", err)
	}
	if err := os.WriteFile(file, append(text, text[:30]...), 0o600); err != nil {
		t.Fatal(err)
	}
	second := startList(t, config)
	if !suppressed(t, second, ada) || suppressed(t, second, bob) {
		t.Error("another process reads another list")
	}
	add(t, second, cy)
	third := startList(t, config)
	if !suppressed(t, third, ada) || !suppressed(t, third, cy) || third.Len() != 2 {
		t.Error("what follows a torn line is lost")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v, %v", info.Mode(), err)
	}
}

// TestAListsFolderIsNotMade: the disk that the list is on may be away.
func TestAListsFolderIsNotMade(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "mount")
	config := Config{Pepper: pepper, Suppression: SuppressionConfig{File: filepath.Join(folder, "list")}}
	if _, err := NewSuppressions(config, silent()); err == nil || !strings.Contains(err.Error(), folder+": make it") {
		t.Errorf("without the folder: %v", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	startList(t, config)
}

// TestABadFileIsRefused: a list that cannot be trusted is as good as none.
func TestABadFileIsRefused(t *testing.T) {
	good := filepath.Join(t.TempDir(), "list")
	list := startList(t, Config{Suppression: SuppressionConfig{File: good}})
	add(t, list, keyOf(t, "ada@orchard.example"))
	add(t, list, keyOf(t, "bob@orchard.example"))
	list.Close()
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte{}, text...)
	damaged[5] ^= 1
	for name, test := range map[string]struct {
		text   string
		pepper string
		says   string
	}{
		"damaged":         {string(damaged), pepper, "line 1 "},
		"another pepper":  {string(text), pepper + "!", "line 1 "},
		"a text":          {string(text) + "hello\n", pepper, "line 3 "},
		"a long line":     {strings.Repeat("+", 200_000) + "\n", pepper, "line 1 "},
		"an empty line":   {"\n" + string(text), pepper, "line 1 "},
		"a short pepper":  {"", "short", "pepper: "},
		"Windows' breaks": {strings.ReplaceAll(string(text), "\n", "\r\n"), pepper, "line 1 "},
	} {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := NewSuppressions(Config{Pepper: test.pepper, Suppression: SuppressionConfig{File: file}}, silent())
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
	for _, file := range []string{t.TempDir(), filepath.Join(good, "x"), "/dev/null"} {
		if _, err := NewSuppressions(Config{Pepper: pepper, Suppression: SuppressionConfig{File: file}}, silent()); err == nil {
			t.Errorf("%s is a list", file)
		}
	}
}

// TestADiskThatFails makes the file one that cannot be written, and then lets
// it.
func TestADiskThatFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	config := Config{Suppression: SuppressionConfig{File: file}}
	list := startList(t, config)
	ada, bob := keyOf(t, "ada@orchard.example"), keyOf(t, "bob@orchard.example")
	writable := list.file.file
	readable, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	list.file.file = readable
	kept, err := list.Add(t.Context(), ada)
	if !errors.Is(err, errNotKept) || kept != (Kept{Pending: true, Changed: true}) || enrich.AsError(err).Kind != enrich.Unavailable {
		t.Errorf("kept in %+v, %v", kept, err)
	}
	if !suppressed(t, list, ada) || list.Owed()[copyFile] != 1 {
		t.Error("it does not hold here, or is not owed")
	}
	list.file.file = writable
	_ = readable.Close()
	if kept := add(t, list, bob); kept != (Kept{InFile: true, Changed: true}) || list.Owed()[copyFile] != 0 {
		t.Errorf("kept in %+v, owed %v", kept, list.Owed())
	}
	if again := startList(t, config); !suppressed(t, again, ada) || !suppressed(t, again, bob) {
		t.Error("what was owed is not in the file")
	}
}

func TestManyAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	config := Config{Suppression: SuppressionConfig{File: file}}
	list := startList(t, config)
	var working sync.WaitGroup
	for i := range 8 {
		working.Go(func() {
			for j := range 20 {
				key := keyOf(t, fmt.Sprintf("ada%d.%d@orchard.example", i, j%5))
				if _, err := list.Add(t.Context(), key); err != nil {
					t.Error(err)
				}
				if is, err := list.Suppressed(key); err != nil || !is {
					t.Errorf("not on the list: %v", err)
				}
				if j%5 == 4 {
					if _, err := list.Remove(t.Context(), key); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	working.Wait()
	if again := startList(t, config); list.Len() != 8*4 || again.Len() != list.Len() {
		t.Errorf("%d in memory, %d in the file, want 32", list.Len(), again.Len())
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for want, config := range map[string]Config{
		"pepper: ":                  {Suppression: SuppressionConfig{File: "x"}},
		"suppression.max_entries: ": {Suppression: SuppressionConfig{MaxEntries: -1}},
		"audit.max_bytes: ":         {Audit: AuditConfig{MaxBytes: 10}},
		"audit.max_age: ":           {Audit: AuditConfig{MaxAge: 1}},
		"audit.keep: ":              {Audit: AuditConfig{Keep: -1}},
		"audit.keep_for: ":          {Audit: AuditConfig{KeepFor: -1}},
		"audit.queue: ":             {Audit: AuditConfig{Queue: -1}},
		"audit.file: ":              {Pepper: pepper, Audit: AuditConfig{File: "x"}, Suppression: SuppressionConfig{File: "x"}},
		"redis.addresses: ":         {Pepper: pepper, Redis: redisWithout()},
	} {
		if problems := config.Validate(); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("%s has %v", want, problems)
		}
	}
	if problems := (Config{}).WithDefaults().Validate(); len(problems) != 0 {
		t.Errorf("the defaults have %v", problems)
	}
}

func BenchmarkSuppressed(b *testing.B) {
	list := startList(b, Config{})
	for i := range 100_000 {
		if err := list.merge(change{list.tags.of(fmt.Sprint(i)), stamp(i + 1)}, ""); err != nil {
			b.Fatal(err)
		}
	}
	key := keyOf(b, "ada@orchard.example")
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if is, err := list.Suppressed(key); is || err != nil {
				b.Error(is, err)
			}
		}
	})
}
