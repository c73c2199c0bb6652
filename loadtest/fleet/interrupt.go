package fleet

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupted returns a context that ends when somebody asks the program to end,
// so that what it started and its files can be removed. The next signal ends it
// at once. Where hanging up is ignored, as under nohup, it stays so.
func Interrupted(ctx context.Context) (context.Context, func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
