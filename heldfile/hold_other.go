//go:build !unix

package heldfile

import "os"

func hold(*os.File) error { return ErrNoLocks }
