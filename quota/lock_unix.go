//go:build unix

package quota

import (
	"fmt"
	"os"
	"syscall"
)

// lockFile keeps other processes from using the same state file. The lock ends
// with the process, however it ends.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: another process uses the state file: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}
