package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Redis is a running redis-server that keeps nothing on disk.
type Redis struct {
	Address string

	dir     string
	current atomic.Pointer[Process]
}

// StartRedis starts a Redis on a free port of the loopback interface.
func StartRedis(ctx context.Context, dir string, core int) (*Redis, error) {
	var failed error
	for range 5 { // another process may take the port in between
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		r := &Redis{Address: address, dir: dir}
		if failed = r.run(ctx, core); failed == nil {
			return r, nil
		}
	}
	return nil, failed
}

// Current is its process, which may have ended.
func (r *Redis) Current() *Process { return r.current.Load() }

// Signal sends its process a signal.
func (r *Redis) Signal(signal syscall.Signal) error { return r.Current().Signal(signal) }

// Kill ends it at once.
func (r *Redis) Kill() { r.Current().Kill() }

// Stop ends it.
func (r *Redis) Stop() { r.Current().Stop() }

// Restart starts a killed Redis at the same address, with nothing in it.
func (r *Redis) Restart(ctx context.Context) error {
	if err := away(r.Current()); err != nil {
		return err
	}
	return r.run(ctx, AnyCore)
}

func (r *Redis) run(ctx context.Context, core int) error {
	_, port, _ := net.SplitHostPort(r.Address)
	process, err := start(Program{
		Name: "redis",
		Args: []string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", r.dir},
		Core: core,
	}, func([]byte) bool { return true })
	if err != nil {
		return err
	}
	r.current.Store(process)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		if _, err = r.Info(ctx, "server"); err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-process.ended:
			return fmt.Errorf("redis did not start: %w", err)
		case <-ctx.Done():
			process.Kill()
			return fmt.Errorf("redis did not start in time: %w", err)
		}
	}
}

// Trips is how many times Redis has read requests from a connection. Commands
// that were sent together are read together, so this counts round trips.
func (r *Redis) Trips(ctx context.Context) (int64, error) {
	info, err := r.Info(ctx, "stats")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["total_reads_processed"], 10, 64)
}

// Info asks for one section of INFO. It is one round trip itself.
func (r *Redis) Info(ctx context.Context, section string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.Address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	deadline, _ := ctx.Deadline()
	_ = connection.SetDeadline(deadline)
	if _, err := fmt.Fprintf(connection, "INFO %s\r\n", section); err != nil {
		return nil, err
	}
	// The reply is "$length\r\n" and so many bytes.
	head := make([]byte, 0, 16)
	for len(head) < cap(head) && !strings.HasSuffix(string(head), "\r\n") {
		var one [1]byte
		if _, err := io.ReadFull(connection, one[:]); err != nil {
			return nil, err
		}
		head = append(head, one[0])
	}
	length, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(head), "$")))
	if err != nil || length < 0 || length > 1<<20 {
		return nil, errors.New("redis: no answer to INFO")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(connection, body); err != nil {
		return nil, err
	}
	info := map[string]string{}
	for line := range strings.Lines(string(body)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
