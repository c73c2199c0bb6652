// Command quotarun measures in real time how close the service comes to a
// vendor's limit, and how often it crosses it, beside what is usually done: it
// starts a Redis, a strict fake vendor and three enrichd processes, keeps a
// backlog of leads in front of them, and lets the vendor's ledger judge. Then
// it does the same with three plain clients for each naive policy.
//
// All load goes to loopback. Every run is bounded and what was started is ended.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// rule is one limit of the vendor, and how many calls it allows in a run that
// begins with a window.
type rule struct {
	name  string
	limit strict.Limit
	ideal func(time.Duration) float64
}

var rules = []rule{
	{"token bucket 10/s burst 20", strict.Limit{Name: "rate", Shape: strict.TokenBucket, Amount: 10, Window: time.Second, Burst: 20},
		func(d time.Duration) float64 { return 20 + 10*d.Seconds() }},
	{"fixed 100 per 10 s", strict.Limit{Name: "window", Shape: strict.Fixed, Amount: 100, Window: 10 * time.Second},
		func(d time.Duration) float64 { return 100 * d.Seconds() / 10 }},
	{"fixed 10 per 1 s", strict.Limit{Name: "window", Shape: strict.Fixed, Amount: 10, Window: time.Second},
		func(d time.Duration) float64 { return 10 * d.Seconds() }},
	{"sliding 100 per 10 s, refused calls count", strict.Limit{Name: "log", Shape: strict.Sliding, Amount: 100, Window: 10 * time.Second, CountRefused: true},
		func(d time.Duration) float64 { return 100 * d.Seconds() / 10 }},
}

// policy is a way to call the vendor from three clients.
type policy struct {
	name string
	run  func(ctx context.Context, vendor *vendor, rule rule) error
}

func main() {
	length := flag.Duration("length", 30*time.Second, "how long each run takes; a multiple of 10s, at most 5m")
	flag.Parse()
	if *length < 10*time.Second || *length > 5*time.Minute || *length%(10*time.Second) != 0 {
		fmt.Fprintln(os.Stderr, "quotarun: -length is a multiple of 10s from 10s to 5m")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, *length); err != nil {
		fmt.Fprintln(os.Stderr, "quotarun:", err)
		os.Exit(1)
	}
}

// compare runs every policy against every rule and prints the table.
func compare(ctx context.Context, length time.Duration) error {
	dir, err := os.MkdirTemp("", "quotarun")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "enrichd")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/enrichd/enrichd/cmd/enrichd")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build enrichd: %w", err)
	}
	policies := []policy{
		{"enrichd, three replicas", func(ctx context.Context, v *vendor, r rule) error { return runFleet(ctx, binary, dir, v, r) }},
		{"backoff, no limiter", runBackoff},
		{"x/time/rate, a third each", func(ctx context.Context, v *vendor, r rule) error { return runRate(ctx, v, r, 3) }},
		{"x/time/rate, all on each", func(ctx context.Context, v *vendor, r rule) error { return runRate(ctx, v, r, 1) }},
	}
	fmt.Printf("%-42s  %-26s  %10s  %15s  %6s\n", "VENDOR RULE", "POLICY", "DONE/IDEAL", "429s PER 10,000", "CALLS")
	for _, rule := range rules {
		for _, policy := range policies {
			result, err := measure(ctx, policy, rule, length)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", rule.name, policy.name, err)
			}
			fmt.Printf("%-42s  %-26s  %10.3f  %15.0f  %6d\n", rule.name, policy.name, result.done, result.refused, result.calls)
		}
	}
	return nil
}

// result is what the vendor's ledger says about one run.
type result struct {
	done    float64 // calls done over those allowed
	refused float64 // per 10,000 calls
	calls   int64
}

// measure runs one policy for the given time, from the beginning of a window.
func measure(ctx context.Context, policy policy, rule rule, length time.Duration) (result, error) {
	vendor, err := startVendor(rule.limit)
	if err != nil {
		return result{}, err
	}
	defer vendor.stop()
	vendor.length = length
	if err := policy.run(ctx, vendor, rule); err != nil {
		return result{}, err
	}
	calls, refused := vendor.counts()
	if calls == 0 {
		return result{}, fmt.Errorf("no call reached the vendor")
	}
	return result{
		done:    float64(calls-refused) / rule.ideal(length),
		refused: 10_000 * float64(refused) / float64(calls),
		calls:   calls,
	}, nil
}
