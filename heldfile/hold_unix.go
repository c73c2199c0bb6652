//go:build unix

package heldfile

import (
	"errors"
	"os"
	"syscall"
)

// hold locks the open file, not the process: a second opening is refused also
// within one process.
func hold(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}
