package config

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing may happen before files are looked at, so that
	// one that is being written is not read by halves; stir is how long they
	// may keep it from happening.
	quiet = 100 * time.Millisecond
	stir  = 500 * time.Millisecond
	// lookEvery is how often files are looked at although nobody told of a
	// change: networks and limits of the system can keep events back.
	lookEvery = 5 * time.Second
	// mostWatched is how much of a file counts, in bytes.
	mostWatched = 4 << 20
)

// Watcher tells when the content of files changes. It watches their folders, so
// that files which are replaced by renaming, or by turning a symbolic link
// elsewhere as Kubernetes does, are noticed. Its methods are for one goroutine.
type Watcher struct {
	events *fsnotify.Watcher // nil: the system offers none
	every  time.Duration     // how often files are looked at without an event
	files  []string
	seen   [sha256.Size]byte
}

// NewWatcher begins to watch. Without help of the system it looks every few
// seconds, and says so. Close ends it.
func NewWatcher(files []string, log *slog.Logger) *Watcher {
	w := &Watcher{every: lookEvery}
	events, err := fsnotify.NewBufferedWatcher(64)
	if err != nil {
		log.Warn("the system cannot tell of changed files; they are looked at now and then", "every", lookEvery.String(), "error", err)
	} else {
		w.events = events
	}
	w.Watch(files)
	return w
}

// Watch watches other files from now on. They count as changed until they were
// read again: they may have been since they were read.
func (w *Watcher) Watch(files []string) {
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	if !slices.Equal(files, w.files) {
		w.files, w.seen = files, [sha256.Size]byte{}
	}
	w.watchFolders()
}

// watchFolders watches the folders of the files, and of what they lead to now.
func (w *Watcher) watchFolders() {
	if w.events == nil {
		return
	}
	folders := map[string]bool{}
	for _, file := range w.files {
		folders[filepath.Dir(file)] = true
		if led, err := filepath.EvalSymlinks(file); err == nil {
			folders[filepath.Dir(led)] = true
		}
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			folders[file] = true
		}
	}
	for _, folder := range w.events.WatchList() {
		if !folders[folder] {
			_ = w.events.Remove(folder) // gone with the folder, perhaps
		}
	}
	for folder := range folders {
		_ = w.events.Add(folder) // one that is not there is looked at now and then
	}
}

// Wait returns true when the files are to be read again: they have changed since
// the last Wait, or again receives. It returns false when ctx ends.
func (w *Watcher) Wait(ctx context.Context, again <-chan os.Signal) bool {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	var events <-chan fsnotify.Event
	var failures <-chan error
	if w.events != nil {
		events, failures = w.events.Events, w.events.Errors
	}
	settled := time.NewTimer(time.Hour)
	defer settled.Stop()
	settled.Stop()
	var began time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-again:
			w.seen = fingerprint(w.files)
			return true
		case <-events:
			if began.IsZero() {
				began = time.Now()
			}
			settled.Reset(min(quiet, time.Until(began.Add(stir))))
			continue
		case <-failures: // events were lost
		case <-settled.C:
		case <-tick.C:
		}
		began = time.Time{}
		if now := fingerprint(w.files); now != w.seen {
			w.seen = now
			return true
		}
		w.watchFolders()
	}
}

// Close ends the watching.
func (w *Watcher) Close() {
	if w.events != nil {
		_ = w.events.Close()
	}
}

// fingerprint is of the names and the content of the files, and of the
// definitions in folders.
func fingerprint(files []string) (sum [sha256.Size]byte) {
	all := sha256.New()
	for _, file := range files {
		within := []string{file}
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			within, _ = filepath.Glob(filepath.Join(file, "*.yaml"))
		}
		for _, name := range within {
			content := contentOf(name)
			all.Write([]byte(name + "\x00"))
			all.Write(content[:])
		}
	}
	all.Sum(sum[:0])
	return sum
}

// contentOf is zero for what cannot be read.
func contentOf(name string) (sum [sha256.Size]byte) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return sum
	}
	file, err := os.Open(name)
	if err != nil {
		return sum
	}
	defer file.Close()
	content := sha256.New()
	if _, err := io.Copy(content, io.LimitReader(file, mostWatched)); err != nil {
		return sum
	}
	content.Sum(sum[:0])
	return sum
}
