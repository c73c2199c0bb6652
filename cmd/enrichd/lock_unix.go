//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// lockResults keeps other runs from writing the same results. The lock ends with
// the process, however it ends.
func lockResults(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	taken := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
	held, heldErr := file.Stat()
	there, thereErr := os.Stat(file.Name())
	if taken || heldErr != nil || thereErr != nil || !os.SameFile(held, there) { // its owner has just removed it
		_ = file.Close()
		return nil, fmt.Errorf("another run writes %s: wait for its end or name another file with --out", path)
	}
	return func() { _ = os.Remove(file.Name()); _ = file.Close() }, nil
}
