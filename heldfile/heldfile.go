// Package heldfile opens files that one process holds: nobody else gets them until
// they are closed.
package heldfile

import (
	"errors"
	"fmt"
	"os"
)

var (
	// ErrHeld is the error of a file that somebody else holds: another process, or
	// this one, which opened it before.
	ErrHeld = errors.New("somebody else holds the file")
	// ErrNoLocks is the error where files cannot be held. Whoever can do without
	// goes on.
	ErrNoLocks = errors.New("this system has no file locks")
)

// Open opens a file for reading and writing, or makes it for this user alone, and
// holds it until it is closed or the process ends, however it ends. It does not
// wait for whoever holds the file.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := hold(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return file, nil
}
