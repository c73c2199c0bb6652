package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/results"
)

// bench is one run of the benchmark.
type bench struct {
	runCommand
	dir    string // for files of this run
	binary string
	over   fleet.Config
	ending []func()
}

// measureAll measures the wanted rows one after the other and prints them.
func measureAll(ctx context.Context, c runCommand) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{runCommand: c, dir: dir, binary: c.Binary}
	if c.Config != "" {
		text, err := os.ReadFile(c.Config)
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(text, &b.over); err != nil {
			return fmt.Errorf("%s: %w", c.Config, err)
		}
	}
	if b.binary == "" {
		if b.binary, err = fleet.Build(ctx, dir, "-pgo="+releaseProfile); err != nil {
			return err
		}
	}
	c.tableHead(os.Stdout)
	failed := 0
	for _, row := range rows {
		if !c.wants(row) {
			continue
		}
		measured, err := b.one(ctx, row)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			measured = result{value: "failed", detail: strings.ReplaceAll(err.Error(), "\n", " "), failed: true}
			failed++
		}
		if err := c.tell(os.Stdout, row, measured); err != nil {
			return err
		}
	}
	fmt.Printf("\nload at the end %s\n", results.Here().Load)
	if failed > 0 {
		return fmt.Errorf("%d rows could not be measured", failed)
	}
	return b.joinProfiles(ctx)
}

// wants tells whether a row was asked for.
func (c *runCommand) wants(row row) bool {
	if len(c.Rows) == 0 {
		return c.All || !row.long
	}
	return slices.ContainsFunc(c.Rows, func(wanted string) bool { return strings.HasPrefix(row.name, wanted) })
}

// one measures a row and ends what it started.
func (b *bench) one(ctx context.Context, row row) (result, error) {
	defer func() {
		for _, end := range slices.Backward(b.ending) {
			end()
		}
		b.ending = nil
	}()
	return row.measure(ctx, b)
}

// later calls end when the row is measured.
func (b *bench) later(end func()) { b.ending = append(b.ending, end) }

// floor starts a floor on the server's core.
func (b *bench) floor(ctx context.Context, kind string, options ...string) (*fleet.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process, err := fleet.Serve(ctx, fleet.Program{Name: "floor " + kind, Args: append([]string{self, "floor", kind}, options...), Core: b.Server})
	if err == nil {
		b.later(process.Stop)
	}
	return process, err
}

// redis starts a Redis beside the client.
func (b *bench) redis(ctx context.Context) (*fleet.Redis, error) {
	redis, err := fleet.StartRedis(ctx, b.dir, b.Client)
	if err == nil {
		b.later(redis.Stop)
	}
	return redis, err
}

// service starts an enrichd on the server's core.
func (b *bench) service(ctx context.Context, config fleet.Config) (*fleet.Replica, error) {
	name := fmt.Sprintf("enrichd%d", len(b.ending))
	replica, err := fleet.StartReplica(ctx, b.binary, b.dir, name, fleet.Merge(b.profiled(config), b.over), b.Server)
	if err != nil {
		return nil, err
	}
	b.later(replica.Stop)
	b.profile(ctx, replica.Current().Admin)
	return replica, nil
}

// pin keeps this process, and what it starts, on one core. Threads that begin
// later inherit it.
func pin(core int) error {
	var set unix.CPUSet
	set.Set(core)
	return pinTo(set)
}

// pinAny lets this process run on all cores again.
func pinAny() error {
	var set unix.CPUSet
	for core := range runtime.NumCPU() {
		set.Set(core)
	}
	return pinTo(set)
}

func pinTo(set unix.CPUSet) error {
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, _ := strconv.Atoi(filepath.Base(thread))
		if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH {
			return fmt.Errorf("choose cores: %w", err)
		}
	}
	return nil
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, length time.Duration) {
	select {
	case <-time.After(length):
	case <-ctx.Done():
	}
}
