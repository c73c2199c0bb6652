package fleet

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupted returns a context that ends when somebody asks the program to end,
// so that what it started can be ended and what it found out be kept. The next
// signal ends it at once. Where hanging up is ignored, as under nohup, it stays
// so.
func Interrupted(ctx context.Context) (context.Context, func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(ctx)
	came := make(chan os.Signal, 1)
	signal.Notify(came, signals...)
	go func() {
		select {
		case <-came:
			// Who reads the output was often interrupted as well, as tee is by the
			// same keys. Writing to nobody would end the program before its time.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		case <-ctx.Done():
		}
		signal.Stop(came)
		cancel()
	}()
	return ctx, cancel
}
