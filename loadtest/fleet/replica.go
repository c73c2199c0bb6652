package fleet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/goccy/go-yaml"
)

// Build compiles enrichd into the folder, with more flags of "go build" if any are
// given, and returns the binary's path.
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	binary := filepath.Join(dir, "enrichd")
	args := slices.Concat([]string{"build", "-o", binary}, flags, []string{"github.com/enrichd/enrichd/cmd/enrichd"})
	build := exec.CommandContext(ctx, "go", args...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build enrichd: %w", err)
	}
	return binary, nil
}

// Config is a configuration of enrichd by its fields' names.
type Config = map[string]any

// BaseConfig listens on free ports of the loopback interface. With the address
// of a Redis the replicas share a cache and quotas there.
func BaseConfig(redis string) Config {
	config := Config{
		"server": Config{"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"},
	}
	if redis != "" {
		config["cache"] = Config{"redis": Config{"addresses": []string{redis}, "pepper": "a pepper for load tests"}}
		config["quota"] = Config{"redis": Config{"addresses": []string{redis}}}
	}
	return config
}

// Merge returns base with the fields of over laid on it, level by level.
func Merge(base, over Config) Config {
	merged := maps.Clone(base)
	if merged == nil {
		merged = Config{}
	}
	for name, value := range over {
		below, isMap := value.(Config)
		under, wasMap := merged[name].(Config)
		if isMap && wasMap {
			value = Merge(under, below)
		}
		merged[name] = value
	}
	return merged
}

// Replica is one running enrichd. Its number and configuration stay over a
// restart, its addresses do not.
//
// It is safe for concurrent use.
type Replica struct {
	name, binary, file string
	core               int
	current            atomic.Pointer[Process]
}

// StartReplica writes the configuration into the folder and starts an enrichd
// of that name with it.
func StartReplica(ctx context.Context, binary, dir, name string, config Config, core int) (*Replica, error) {
	r := &Replica{name: name, binary: binary, file: filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".yaml"), core: core}
	if err := r.Configure(config); err != nil {
		return nil, err
	}
	return r, r.Restart(ctx)
}

// Configure replaces the replica's configuration file. A running replica
// obeys it when it reloads.
func (r *Replica) Configure(config Config) error {
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	fresh := r.file + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, r.file)
}

// Name of the replica.
func (r *Replica) Name() string { return r.name }

// Current is its process, which may have ended.
func (r *Replica) Current() *Process { return r.current.Load() }

// Stop ends the replica.
func (r *Replica) Stop() {
	if process := r.Current(); process != nil {
		process.Stop()
	}
}

// Restart starts a replica that is not running. One that was asked to end is
// waited for.
func (r *Replica) Restart(ctx context.Context) error {
	if err := away(r.Current()); err != nil {
		return err
	}
	process, err := Serve(ctx, Program{
		Name: r.name,
		Args: []string{r.binary, "serve", "--config", r.file},
		Core: r.core,
		Log:  r.file + ".log",
	})
	if err != nil {
		return err
	}
	r.current.Store(process)
	return nil
}
