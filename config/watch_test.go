package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// waits tells whether the watcher finds a reason to read again within the
// patience of a test.
func waits(t *testing.T, w *Watcher, again <-chan os.Signal, patience time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return w.Wait(ctx, again)
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// point makes link lead to target at once, as ln -sfn does.
func point(t *testing.T, link, target string) {
	t.Helper()
	if err := os.Symlink(target, link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
}

// TestWatcherNoticesEveryWayOfChanging has a file, a secret and a folder of
// definitions change as editors, scripts and Kubernetes change them.
func TestWatcherNoticesEveryWayOfChanging(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, made := range []string{"mounted", "mounted/..1", "mounted/..2", "definitions", "secrets", "elsewhere"} {
		if err := os.Mkdir(at(made), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, at("mounted/..1/enrichd.yaml"), "one")
	put(t, at("mounted/..2/enrichd.yaml"), "two")
	point(t, at("mounted/..data"), "..1")
	point(t, at("mounted/enrichd.yaml"), "..data/enrichd.yaml")
	point(t, at("linked.yaml"), "elsewhere/real.yaml")
	put(t, at("elsewhere/real.yaml"), "one")
	put(t, at("secrets/key"), "one")

	w := NewWatcher([]string{at("mounted/enrichd.yaml"), at("definitions"), at("secrets/key"), at("secrets/missing"), at("linked.yaml")}, slog.New(slog.DiscardHandler))
	defer w.Close()
	again := make(chan os.Signal, 1)
	again <- os.Interrupt
	if !waits(t, w, again, 10*time.Second) {
		t.Fatal("the other reason is not heard")
	}
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"Kubernetes turns its link", func() { point(t, at("mounted/..data"), "..2") }},
		{"a secret is replaced", func() { put(t, at("secrets/new"), "two"); _ = os.Rename(at("secrets/new"), at("secrets/key")) }},
		{"a secret is written over", func() { put(t, at("secrets/key"), "three") }},
		{"a missing secret appears", func() { put(t, at("secrets/missing"), "x") }},
		{"a secret is gone", func() { _ = os.Remove(at("secrets/missing")) }},
		{"a definition is added", func() { put(t, at("definitions/mine.yaml"), "x") }},
		{"a definition is changed", func() { put(t, at("definitions/mine.yaml"), "y") }},
		{"a file behind a link changes", func() { put(t, at("elsewhere/real.yaml"), "two") }},
	} {
		step.change()
		if !waits(t, w, nil, 20*time.Second) {
			t.Errorf("%s: not noticed", step.name)
		}
	}
	put(t, at("secrets/key"), "three")
	put(t, at("secrets/other"), "not ours")
	if waits(t, w, nil, 2*quiet) {
		t.Error("the same text again, or another file, is a change")
	}
}

// TestWatcherLooksWithoutEvents has no help of the system.
func TestWatcherLooksWithoutEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	put(t, file, "one")
	w := &Watcher{every: 10 * time.Millisecond}
	defer w.Close()
	w.Watch([]string{file})
	if !waits(t, w, nil, 10*time.Second) {
		t.Error("the files that are new to it do not count as changed")
	}
	put(t, file, "two")
	if !waits(t, w, nil, 10*time.Second) {
		t.Error("a change is not noticed")
	}
}
