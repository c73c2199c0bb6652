package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/enrichd/enrichd/enrich"
)

// TestSlowHeadersEnd drips a request line, a preface, and nothing at all.
func TestSlowHeadersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, unasked(t))
		for name, drip := range map[string]struct {
			path  *pipes
			bytes string
		}{
			"REST headers": {b.http, "POST /v1/enrich HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 100)},
			"REST silence": {b.http, ""},
			"gRPC preface": {b.grpc, "PRI * HTTP/2.0\r\n"},
			"gRPC silence": {b.grpc, ""},
		} {
			conn, err := drip.path.dial()
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			var dripping sync.WaitGroup
			dripping.Go(func() {
				for i := range len(drip.bytes) {
					if _, err := conn.Write([]byte{drip.bytes[i]}); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			_, _ = io.Copy(io.Discard, conn)
			if took := time.Since(began); took > headerTimeout {
				t.Errorf("%s: the connection lived for %s", name, took)
			}
			_ = conn.Close()
			dripping.Wait()
		}
		b.stop()
	})
}

// TestBadFrames sends HTTP/2 frames that break its rules (RFC 9113). The
// connection ends or lives on; the next one is served.
func TestBadFrames(t *testing.T) {
	edge := start(t, answered)
	headers := func(fields ...string) []byte {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for i := 0; i < len(fields); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		return block.Bytes()
	}
	call := headers(":method", "POST", ":scheme", "http", ":path", "/enrich.v1.EnrichService/Enrich", ":authority", "localhost", "content-type", "application/grpc", "te", "trailers")
	for name, send := range map[string]func(*http2.Framer){
		"garbage":              func(f *http2.Framer) { _ = f.WriteRawFrame(0xff, 0xff, 1, bytes.Repeat([]byte{7}, 100)) },
		"data without headers": func(f *http2.Framer) { _ = f.WriteData(1, true, []byte("x")) },
		"an even stream": func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2, BlockFragment: call, EndHeaders: true})
		},
		"bad compression": func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, EndHeaders: true})
		},
		"long headers": func(f *http2.Framer) {
			block := headers(":method", "POST", "x-long", strings.Repeat("x", 100<<10))
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:16<<10]})
			for block = block[16<<10:]; len(block) > 16<<10; block = block[16<<10:] {
				_ = f.WriteContinuation(1, false, block[:16<<10])
			}
			_ = f.WriteContinuation(1, true, block)
		},
		"a window of nothing": func(f *http2.Framer) { _ = f.WriteWindowUpdate(0, 0) },
		"a window overflow":   func(f *http2.Framer) { _ = f.WriteWindowUpdate(0, 1<<31-1); _ = f.WriteWindowUpdate(0, 1<<31-1) },
		"a huge message": func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: call, EndHeaders: true})
			_ = f.WriteData(1, true, []byte{0, 0xff, 0xff, 0xff, 0xff, 1})
		},
		"a message that is none": func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: call, EndHeaders: true})
			_ = f.WriteData(1, true, []byte{0, 0, 0, 0, 2, 0xff, 0xff})
		},
		"resets in a row": func(f *http2.Framer) {
			for id := uint32(1); id < 4000; id += 2 {
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: call, EndHeaders: true})
				_ = f.WriteRSTStream(id, http2.ErrCodeCancel)
			}
		},
		"pings in a row": func(f *http2.Framer) {
			for range 1000 {
				_ = f.WritePing(false, [8]byte{})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", edge.conn.Target())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, _ = io.WriteString(conn, http2.ClientPreface)
			framer := http2.NewFramer(conn, nil)
			framer.AllowIllegalWrites = true
			_ = framer.WriteSettings()
			send(framer)
			if _, err := edge.grpc.Enrich(t.Context(), emailOf("x")); err != nil {
				t.Errorf("others are not served: %v", err)
			}
		})
	}
}

// heapInUse is the memory that is in use after a collection.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse + stats.StackInuse)
}

// TestIdleConnectionsCostLittle opens as many connections as the machine lets a
// process have, 10,000 at most, and sends nothing on them.
func TestIdleConnectionsCostLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("opens thousands of connections")
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	// Both ends are in this process.
	count := min(10_000, int(min(limit.Cur, 1<<20)-200)/2)
	edge := start(t, answered)
	before := heapInUse()
	conns := make([]net.Conn, 0, count)
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for i := range count {
		conn, err := net.Dial("tcp", []string{edge.conn.Target(), strings.TrimPrefix(edge.http, "http://")}[i%2])
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns = append(conns, conn)
	}
	for range 10 {
		if _, err := edge.grpc.Enrich(t.Context(), emailOf("x")); err != nil {
			t.Errorf("gRPC beside them: %v", err)
		}
		if code, _, body := edge.post(t, `{"email":"x"}`); code != http.StatusOK {
			t.Errorf("REST beside them answered %d: %s", code, body)
		}
	}
	each := (heapInUse() - before) / int64(count)
	t.Logf("%d idle connections, %d bytes each", count, each)
	if each > 100<<10 {
		t.Errorf("an idle connection costs %d bytes", each)
	}
}

// TestManyStreamsAreBounded opens 1,000 streams whose questions are not answered
// and which would ask far more than may be under way.
func TestManyStreamsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a thousand streams")
	}
	leave := make(chan struct{})
	var mu sync.Mutex
	under, most := 0, 0
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		if request.Email == "quick" {
			return enrich.Answer{}, nil
		}
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		<-leave
		return enrich.Answer{}, nil
	}, func(config *Config, _ *Parts) { config.MaxStreams = 2000 })
	before := heapInUse()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for range 1000 {
		stream := openStream(t, ctx, edge.grpc)
		all.Go(func() {
			for i := range 100 {
				if stream.Send(questionOf(i)) != nil {
					return
				}
			}
			_ = stream.CloseSend()
		})
	}
	all.Wait()
	if _, err := edge.grpc.Enrich(t.Context(), emailOf("quick")); err != nil {
		t.Errorf("others are not served: %v", err)
	}
	used := heapInUse() - before
	mu.Lock()
	t.Logf("1,000 streams with 100 questions each: %d under way at most, %d KiB a stream on both ends", most, used/1000/1024)
	if most > 4096 || used > 400<<20 {
		t.Errorf("%d questions under way in %d bytes", most, used)
	}
	mu.Unlock()
	close(leave)
}

// TestNothingInternalLeaks breaks requests in many ways and looks in what comes
// back for names of our own.
func TestNothingInternalLeaks(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{}, fmt.Errorf("dial redis-7.internal:6379: %w", io.ErrUnexpectedEOF)
	})
	for _, path := range []string{"/v1/enrich", "/v1/enrich:batch", "/v1/enrich:stream", "/v1/providers", "/v1/subjects:erase", "/v1/subjects:lift", "/v1/nothing", "/debug/pprof", "/metrics/../v1/enrich"} {
		for _, body := range []string{"", "{", `{"email":"x"}`, `{"requests":[{"email":"x"}]}`, `{"request":{"email":"x"}}`, "\x00\xff", strings.Repeat("[", 5000)} {
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut} {
				_, header, answer := edge.ask(t, method, path, body)
				for _, inside := range []string{"redis-7", "goroutine", ".go:", "github.com", "protovalidate", "proto:", "panic", "0xc0"} {
					if strings.Contains(string(answer), inside) || header.Get("Server") != "" {
						t.Errorf("%s %s %q: answered %s", method, path, body, answer)
					}
				}
			}
		}
	}
}
