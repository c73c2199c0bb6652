package fleet_test

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/enrichd/enrichd/loadtest/fleet"
)

func TestInterruptedBySignals(t *testing.T) {
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if sent == syscall.SIGHUP && signal.Ignored(sent) {
			continue // the tests run under nohup, and so does what they test
		}
		ctx, stop := fleet.Interrupted(t.Context())
		if err := syscall.Kill(syscall.Getpid(), sent); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
	}
}
