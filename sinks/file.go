package sinks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/enrichd/enrichd/heldfile"
)

// FileConfig is a file of one JSON object a line.
type FileConfig struct {
	// Name of the sink, by which its deliveries are known for ever.
	Name string `yaml:"name"`
	// Path of the file, which is made, with its folder. One process writes it: each
	// replica needs a file of its own, and a second one at the same path does not
	// start.
	Path string `yaml:"path"`
	// RotateBytes is the size from which the file is put aside under a name with
	// the time, and begun anew. Default: never.
	RotateBytes int64 `yaml:"rotate_bytes"`
}

// remembered is how many operation keys the file knows again: many more than
// can be under way when the process ends.
const remembered = 10_000

// errInUse is the error of a file that another process, or another sink, writes.
var errInUse = errors.New("the file is written already: each process and each sink needs a file of its own")

// File appends messages to a file. What it has accepted lies on the disk.
type File struct {
	config FileConfig
	// lock lies beside the file and is held until Close, so that nobody else
	// begins the file anew while it is put aside.
	lock *os.File

	mu   sync.Mutex // guards the rest
	file *os.File
	size int64
	seen map[string]bool // operation keys, the last ones
	ring []string        // the same in their order
	next int
}

var _ Sink = (*File)(nil)

// line is a message as it stands in the file.
type line struct {
	ID           string          `json:"id"`
	OperationKey string          `json:"operation_key"`
	RecordKey    string          `json:"record_key"`
	Version      int64           `json:"version"`
	Body         json.RawMessage `json:"body"`
}

// NewFile opens the file, or makes it. What a crash left unfinished at its end
// was accepted by nobody and is cut off.
func NewFile(config FileConfig) (*File, error) {
	f := &File{config: config, seen: map[string]bool{}, ring: make([]string, remembered)}
	err := os.MkdirAll(filepath.Dir(config.Path), 0o700)
	if err == nil {
		f.lock, err = openHeld(config.Path + ".lock")
	}
	if err != nil {
		return nil, fmt.Errorf("sinks: %s: %w", config.Name, err)
	}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("sinks: %s: %w", config.Name, errors.Join(err, f.lock.Close()))
	}
	return f, nil
}

// openHeld opens a file, or makes it, for this sink alone.
func openHeld(path string) (*os.File, error) {
	file, err := heldfile.Open(path)
	if errors.Is(err, heldfile.ErrHeld) {
		return nil, errInUse
	}
	return file, err
}

// open opens the file, which is held as well: others may know it by another
// path.
func (f *File) open() error {
	file, err := openHeld(f.config.Path)
	if err != nil {
		return err
	}
	whole, err := f.read(file)
	if err == nil {
		err = errors.Join(file.Truncate(whole), syncFolder(filepath.Dir(f.config.Path)))
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, whole
	return nil
}

// read remembers the operation keys of a file and returns the length of its
// whole lines.
func (f *File) read(file *os.File) (whole int64, err error) {
	lines := bufio.NewReader(file)
	for {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		} else if err != nil {
			return 0, err
		}
		whole += int64(len(text))
		var l line
		if json.Unmarshal(text, &l) == nil {
			f.remember(l.OperationKey)
		}
	}
}

func (f *File) remember(key string) {
	delete(f.seen, f.ring[f.next])
	f.ring[f.next] = key
	f.seen[key] = true
	f.next = (f.next + 1) % len(f.ring)
}

// Name of the sink.
func (f *File) Name() string { return f.config.Name }

// Close closes the file and leaves it to others.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.file.Close(), f.lock.Close())
}

// Deliver appends one message, unless its operation key is there already, and
// waits for the disk.
func (f *File) Deliver(_ context.Context, message Message) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, message.Body); err != nil {
		return &Error{Class: Refused, Reason: "not_json", Attempted: true}
	}
	text, err := json.Marshal(line{ID: message.ID, OperationKey: message.OperationKey, RecordKey: message.RecordKey,
		Version: message.Version, Body: compact.Bytes()})
	if err != nil {
		return &Error{Class: Refused, Reason: "not_json", Attempted: true}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[message.OperationKey] {
		return nil
	}
	if err := f.append(append(text, '\n')); err != nil {
		return &Error{Class: Later, Reason: "disk", Attempted: true, Cause: err}
	}
	f.remember(message.OperationKey)
	return nil
}

// append writes a line; of one that fails nothing stays.
func (f *File) append(text []byte) error {
	if f.config.RotateBytes > 0 && f.size > 0 && f.size+int64(len(text)) > f.config.RotateBytes {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	_, err := f.file.WriteAt(text, f.size)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return errors.Join(err, f.file.Truncate(f.size))
	}
	f.size += int64(len(text))
	return nil
}

// rotate puts the file aside and begins a new one.
func (f *File) rotate() error {
	aside := f.config.Path + "." + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(f.config.Path, aside); err != nil {
		return err
	}
	old := f.file
	if err := f.open(); err != nil {
		return errors.Join(err, os.Rename(aside, f.config.Path)) // the old file goes on
	}
	return old.Close()
}

// syncFolder makes names in a folder last.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
