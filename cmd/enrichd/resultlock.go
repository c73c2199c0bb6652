package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/enrichd/enrichd/heldfile"
)

// holdResults keeps other runs from writing the same results, where files can be
// held. The file that is held for it goes with the run.
func holdResults(path string) (unlock func(), err error) {
	file, err := heldfile.Open(path + ".lock")
	switch {
	case errors.Is(err, heldfile.ErrNoLocks):
		return func() {}, nil
	case errors.Is(err, heldfile.ErrHeld):
		return nil, anotherRun(path)
	case err != nil:
		return nil, err
	}
	held, heldErr := file.Stat()
	there, thereErr := os.Stat(file.Name())
	if heldErr != nil || thereErr != nil || !os.SameFile(held, there) { // its owner has just removed it
		_ = file.Close()
		return nil, anotherRun(path)
	}
	return func() { _ = os.Remove(file.Name()); _ = file.Close() }, nil
}

func anotherRun(path string) error {
	return fmt.Errorf("another run writes %s: wait for its end or name another file with --out", path)
}
