package main

import (
	"errors"
	"fmt"
	"syscall"
)

// listenHelp adds what to do to an error of a listener whose address is taken.
func listenHelp(err error, what string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: another program listens there, maybe another enrichd; stop it, or %s", err, what)
	}
	return err
}
