package fleet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enrichd/enrichd/loadtest/fleet"
)

// replica starts a program that says that it serves, and does nothing else.
func replica(t *testing.T) *fleet.Replica {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "idle")
	const script = `#!/bin/sh
echo '{"msg":"serving"}' >&2
exec sleep 600
`
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := fleet.StartReplica(t.Context(), binary, dir, "replica 1", nil, fleet.AnyCore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

func TestWhatRunsIsNotStartedAgain(t *testing.T) {
	r := replica(t)
	first := r.Current()
	if err := r.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "replica 1 runs already") || r.Current() != first {
		t.Errorf("error %v", err)
	}
	if err := first.Leave(); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(t.Context()); err != nil || !first.Ended() || r.Current().Ended() {
		t.Errorf("after it was asked to end: %v, the first has ended: %t", err, first.Ended())
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("redis-server is not installed; on Debian: apt-get install redis-server")
	}
	redis, err := fleet.StartRedis(t.Context(), t.TempDir(), fleet.AnyCore)
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Stop()
	if err := redis.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "redis runs already") {
		t.Errorf("error %v", err)
	}
}

// TestKeysThatInterruptTheTestReachNobodyElse: a terminal sends their signal to
// all of one group, and replicas that end beside the test would be judged.
func TestKeysThatInterruptTheTestReachNobodyElse(t *testing.T) {
	pid := replica(t).Current().PID()
	if group, err := syscall.Getpgid(pid); err != nil || group == syscall.Getpgrp() {
		t.Errorf("the replica is in the group %d of the test, %v", group, err)
	}
}

func TestAProgramThatIsMissingIsNamed(t *testing.T) {
	for _, core := range []int{fleet.AnyCore, 0} {
		_, err := fleet.Serve(t.Context(), fleet.Program{Name: "redis", Args: []string{"redis-serber"}, Core: core})
		if err == nil || !strings.Contains(err.Error(), `"redis-serber": executable file not found`) {
			t.Errorf("core %d: %v", core, err)
		}
	}
}
