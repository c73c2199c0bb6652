// Package floor holds what the service is compared with: the least that the
// same libraries cost when they do nothing of use. Each floor runs as a process
// of its own, as the service does.
package floor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// EchoMethod answers with the bytes that it is sent, FixedMethod with as many
// as the server was started with.
const (
	EchoMethod  = "/floor.Floor/Echo"
	FixedMethod = "/floor.Floor/Fixed"
)

// ServeGRPC is a bare grpc-go server whose fixed answers hold size bytes. It
// says where it listens as the service does, and serves until ctx ends.
func ServeGRPC(ctx context.Context, size int) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fixed := wrapperspb.Bytes(make([]byte, size))
	method := func(name string, answer func(*wrapperspb.BytesValue) *wrapperspb.BytesValue) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := new(wrapperspb.BytesValue)
			if err := decode(request); err != nil {
				return nil, err
			}
			return answer(request), nil
		}}
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "floor.Floor",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			method("Echo", func(request *wrapperspb.BytesValue) *wrapperspb.BytesValue { return request }),
			method("Fixed", func(*wrapperspb.BytesValue) *wrapperspb.BytesValue { return fixed }),
		},
	}, struct{}{})
	context.AfterFunc(ctx, server.Stop)
	say(listener.Addr().String(), "")
	return server.Serve(listener)
}

// ServeREST is a bare net/http server that answers every request with the same
// size bytes as JSON.
func ServeREST(ctx context.Context, size int) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	body := make([]byte, max(size, 2))
	for i := range body {
		body[i] = 'x'
	}
	body[0], body[len(body)-1] = '"', '"'
	length := strconv.Itoa(len(body))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body)
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	say("", listener.Addr().String())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// Cost is what a number of calls took of the processor.
type Cost struct {
	Calls int64         `json:"calls"`
	CPU   time.Duration `json:"cpu"`
}

// CallVendor makes calls to a vendor with a bare net/http client, reads the
// answers to their end, and writes its Cost as JSON.
func CallVendor(ctx context.Context, address string, workers int, calls int64) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = workers
	client := &http.Client{Transport: transport}
	var number, done atomic.Int64
	ask := func(until int64) {
		var working sync.WaitGroup
		for range workers {
			working.Go(func() {
				for n := number.Add(1); n <= until && ctx.Err() == nil; n = number.Add(1) {
					if _, err := call(ctx, client, fmt.Sprintf("%s/v5/person/enrich?email=floor%d.run%d@company%d.example", address, n, os.Getpid(), n%97)); err == nil {
						done.Add(1)
					}
				}
			})
		}
		working.Wait()
	}
	ask(int64(workers) * 20) // connections are opened, code is warm
	number.Store(int64(workers) * 20)
	done.Store(0)
	before := processorTime()
	ask(int64(workers)*20 + calls)
	cost := Cost{Calls: done.Load(), CPU: processorTime() - before}
	if cost.Calls < calls*9/10 {
		return fmt.Errorf("only %d of %d calls were answered", cost.Calls, calls)
	}
	return json.NewEncoder(os.Stdout).Encode(cost)
}

// call makes a call to the vendor and reads its answer.
func call(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", "k")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// say tells the starting process where to call, in the service's words.
func say(grpc, rest string) {
	_ = json.NewEncoder(os.Stderr).Encode(map[string]string{"msg": "serving", "grpc": grpc, "rest": rest})
}
