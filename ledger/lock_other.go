//go:build !unix

package ledger

import (
	"errors"
	"os"
)

// onNetwork tells whether a folder is known to lie on another machine.
func onNetwork(string) bool { return false }

// lockFile refuses: without a lock two processes would ruin each other's work.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("ledger: this system has no file locks: use PostgreSQL")
}
