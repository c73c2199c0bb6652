//go:build unix

package sinks

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock makes this process the only one that has a file locked. The lock ends with
// the file's closing or the process, however it ends.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errInUse
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return nil
}
