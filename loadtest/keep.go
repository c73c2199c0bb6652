package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/report"
)

// room is what a report takes at most, about, in bytes.
const room = 1 << 20

// writable makes a folder that will be written to, and finds out before a run of
// an hour when nothing can be written there, or the disk is full.
func writable(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(folder, ".probe")
	if err != nil {
		return err
	}
	_, err = probe.Write(make([]byte, room))
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

// keep writes a report as JSON and as a page, and returns the page's path.
func keep(outcome *judge.Report, folder string) (string, error) {
	var text, page bytes.Buffer
	if err := report.WriteJSON(&text, outcome); err != nil {
		return "", err
	}
	if err := report.WriteHTML(&page, outcome); err != nil {
		return "", err
	}
	base := filepath.Join(folder, outcome.Scenario+outcome.Began.UTC().Format("-20060102-150405"))
	// Runs that began in the same second, as those do that waited for the same
	// window, have numbers.
	name := base
	for n := 2; ; n++ {
		err := writeNew(name, map[string][]byte{".json": text.Bytes(), ".html": page.Bytes()})
		if err == nil {
			return name + ".html", nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// writeNew writes files that differ in their endings: all of them, or none. It
// replaces none.
func writeNew(base string, files map[string][]byte) (err error) {
	var made []string
	defer func() {
		if err != nil {
			for _, name := range made {
				_ = os.Remove(name)
			}
		}
	}()
	for ending, text := range files {
		file, err := os.OpenFile(filepath.Clean(base+ending), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, file.Name())
		_, err = file.Write(text)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
