package trial

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/scenario"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// happen begins the events, each at its time, while there is load.
func (t *trial) happen(ctx, loading context.Context) error {
	events := slices.Clone(t.Events)
	slices.SortStableFunc(events, func(a, b scenario.Event) int { return int(a.At - b.At) })
	for _, event := range events {
		select {
		case <-time.After(time.Until(t.began.Add(event.At))):
		case <-loading.Done():
			return nil
		}
		t.mark(event.What())
		switch err := t.do(ctx, event); {
		case ctx.Err() != nil:
			return nil // with the run this ended, too
		case err != nil:
			return fmt.Errorf("%s: %w", event.What(), err)
		}
	}
	return nil
}

func (t *trial) do(ctx context.Context, event scenario.Event) error {
	switch event.Do {
	case "freeze redis":
		return t.redis.Signal(syscall.SIGSTOP)
	case "thaw redis":
		return t.redis.Signal(syscall.SIGCONT)
	case "kill redis":
		t.redis.Kill()
		return nil
	case "start redis":
		return t.redis.Restart(ctx)
	case "kill replica":
		t.replicas[event.Replica-1].Current().Kill()
		return nil
	case "stop replica":
		return t.replicas[event.Replica-1].Current().Leave()
	case "start replica":
		return t.replicas[event.Replica-1].Restart(ctx)
	case "restart replicas":
		for _, replica := range t.replicas {
			replica.Current().Stop()
			if err := replica.Restart(ctx); err != nil {
				return err
			}
		}
		return nil
	case "reload replicas":
		return t.reload(ctx, event.Service)
	default:
		return t.change(event)
	}
}

// reload gives every replica its changed configuration and asks it to obey. One
// that refuses is an error: what came after would tell of something else.
func (t *trial) reload(ctx context.Context, over fleet.Config) error {
	for i, replica := range t.replicas {
		t.configs[i] = fleet.Merge(t.configs[i], over)
		if err := replica.Configure(t.configs[i]); err != nil {
			return err
		}
		if err := t.obey(ctx, replica.Current()); err != nil {
			return fmt.Errorf("%s: %w", replica.Name(), err)
		}
	}
	return nil
}

// obey has a process read its configuration again and tells whether it took it.
// One that has ended takes it when it starts.
func (t *trial) obey(ctx context.Context, process *fleet.Process) error {
	if process.Ended() {
		return nil
	}
	connection, err := grpc.NewClient(process.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(t.authorize(ctx), 10*time.Second)
	defer cancel()
	_, err = enrichv1.NewAdminServiceClient(connection).ReloadConfig(ctx, &enrichv1.ReloadConfigRequest{})
	return err
}

// change makes a vendor behave otherwise.
func (t *trial) change(event scenario.Event) error {
	if event.Faults != nil {
		if err := t.vendors.SetFaults(event.Vendor, *event.Faults); err != nil {
			return err
		}
	}
	if event.Data != nil {
		if err := t.vendors.SetData(event.Vendor, *event.Data); err != nil {
			return err
		}
	}
	if event.Limits != nil {
		if err := t.vendors.SetLimits(event.Vendor, *event.Limits); err != nil {
			return err
		}
		t.noteQuota(event.Vendor, time.Now(), event.Limits.Rules)
	}
	return nil
}
