package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/enrichd/enrichd/loadtest/fleet"
)

// releaseProfile is by what the compiler knows the hot paths of a release.
const releaseProfile = "cmd/enrichd/release.pgo"

// oneProfile is how long one of the profiles lasts that are joined. The last one of
// a row is cut off and lost.
const oneProfile = 2 * time.Second

// profiled lets the service be profiled, if that was asked for.
func (b *bench) profiled(config fleet.Config) fleet.Config {
	if b.Profile == "" {
		return config
	}
	return fleet.Merge(config, fleet.Config{"telemetry": fleet.Config{"admin": "127.0.0.1:0"}})
}

// profile takes profiles of a service until its row ends.
func (b *bench) profile(ctx context.Context, admin string) {
	if b.Profile == "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if text, err := takeProfile(ctx, admin); err == nil {
				name := filepath.Join(b.dir, fmt.Sprintf("cpu%d.pb.gz", time.Now().UnixNano()))
				_ = os.WriteFile(name, text, 0o600)
			}
		}
	}()
	b.later(func() {
		cancel()
		<-ended
	})
}

func takeProfile(ctx context.Context, admin string) ([]byte, error) {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", admin, oneProfile/time.Second)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		pause(ctx, oneProfile/10)
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		pause(ctx, oneProfile/10) // another one is being taken
		return nil, fmt.Errorf("a profile: %s", answer.Status)
	}
	return io.ReadAll(answer.Body)
}

// joinProfiles writes all profiles of the run into one.
func (b *bench) joinProfiles(ctx context.Context) error {
	if b.Profile == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(b.dir, "cpu*.pb.gz"))
	if err != nil {
		return err
	}
	join := exec.CommandContext(ctx, "go", slices.Concat([]string{"tool", "pprof", "-proto", "-output", b.Profile}, files)...)
	if text, err := join.CombinedOutput(); err != nil {
		return fmt.Errorf("join %d profiles: %w: %s", len(files), err, text)
	}
	return nil
}
