package fleet_test

import (
	"syscall"
	"testing"

	"github.com/enrichd/enrichd/loadtest/fleet"
)

func TestInterruptedBySignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, stop := fleet.Interrupted(t.Context())
		if err := syscall.Kill(syscall.Getpid(), signal); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
	}
}
