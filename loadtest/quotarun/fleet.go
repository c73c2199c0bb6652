package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// backlog is how many leads wait in front of each replica.
const backlog = 256

// runFleet measures three enrichd processes that share a Redis.
func runFleet(ctx context.Context, binary, dir string, vendor *vendor, rule rule) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var processes []*exec.Cmd
	defer func() {
		for i := len(processes) - 1; i >= 0; i-- {
			_ = processes[i].Process.Signal(syscall.SIGTERM)
			_ = processes[i].Wait()
		}
	}()
	redis, err := freeAddress()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(redis)
	server := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", dir)
	if err := server.Start(); err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	processes = append(processes, server)
	if err := waitForListener(ctx, redis); err != nil {
		return err
	}
	var replicas []enrichv1.EnrichServiceClient
	for i := range clients {
		process, address, err := startReplica(binary, filepath.Join(dir, fmt.Sprintf("replica%d.yaml", i)), redis, vendor, rule)
		if process != nil {
			processes = append(processes, process)
		}
		if err != nil {
			return err
		}
		connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer connection.Close()
		replicas = append(replicas, enrichv1.NewEnrichServiceClient(connection))
	}
	return vendor.during(ctx, func(ctx context.Context) { enrichAll(ctx, replicas) })
}

// enrichAll keeps the backlog of every replica full until ctx ends.
func enrichAll(ctx context.Context, replicas []enrichv1.EnrichServiceClient) {
	var lead atomic.Int64
	var asking sync.WaitGroup
	for _, replica := range replicas {
		for range backlog {
			asking.Go(func() {
				for ctx.Err() == nil {
					_, err := replica.Enrich(ctx, &enrichv1.EnrichRequest{
						Subject: &enrichv1.EnrichRequest_Email{Email: leadAddress(lead.Add(1))},
						Fields:  &fieldmaskpb.FieldMask{Paths: []string{"person.title"}},
						Lane:    enrichv1.Lane_LANE_BULK,
					})
					if err != nil {
						select {
						case <-time.After(200 * time.Millisecond):
						case <-ctx.Done():
						}
					}
				}
			})
		}
	}
	asking.Wait()
}

// startReplica starts one enrichd and returns its gRPC address.
func startReplica(binary, file, redis string, vendor *vendor, rule rule) (*exec.Cmd, string, error) {
	limit := rule.limit
	text := fmt.Sprintf(`
server: {grpc: "127.0.0.1:0", http: "127.0.0.1:0"}
cache: {redis: {addresses: [%[1]q], pepper: "a pepper for load tests"}}
quota: {redis: {addresses: [%[1]q]}}
answers: {retry_budget: 2m}
providers:
  list:
    - definition: %[2]s
      base_url: %[3]s
      allow_private: true
      credentials: {api_key: k}
      limits:
        - {name: %[4]s, shape: %[5]s, amount: %[6]d, window: %[7]s, burst: %[8]d}
`, redis, vendorName, vendor.url, limit.Name, limit.Shape, limit.Amount, limit.Window, limit.Burst)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	process := exec.Command(binary, "serve", "--config", file)
	output, err := process.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := process.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		var line struct{ Msg, GRPC string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return process, line.GRPC, nil
		}
		fmt.Fprintln(os.Stderr, lines.Text())
	}
	return process, "", errors.New("a replica did not start")
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// waitForListener returns when somebody listens at the address.
func waitForListener(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("nobody listens at %s: %w", address, err)
		}
	}
}
