package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// pipes is a listener whose connections stay inside a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, errors.New("connection refused")
	}
}

// bubble is a server inside a synctest bubble.
type bubble struct {
	t          *testing.T
	server     *Server
	grpc, http *pipes
	log        *bytes.Buffer // read only after stop
	cancel     context.CancelFunc
	served     chan error
}

func newBubble(t *testing.T, config Config, enricher enricherFunc, change ...func(*Parts)) *bubble {
	t.Helper()
	b := &bubble{t: t, grpc: newPipes(), http: newPipes(), log: &bytes.Buffer{}, served: make(chan error, 1)}
	var err error
	parts := Parts{Enricher: enricher, Log: slog.New(slog.NewJSONHandler(b.log, nil))}
	for _, each := range change {
		each(&parts)
	}
	b.server, err = newServer(config.WithDefaults(), parts, b.grpc, b.http)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(t.Context())
	go func() { b.served <- b.server.Serve(ctx) }()
	return b
}

// stop drains the server and waits for it.
func (b *bubble) stop() {
	b.cancel()
	if err := <-b.served; err != nil {
		b.t.Errorf("Serve: %v", err)
	}
}

// client connects over gRPC.
func (b *bubble) client() *grpc.ClientConn {
	b.t.Helper()
	conn, err := grpc.NewClient("passthrough:///127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry(),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return b.grpc.dial() }))
	if err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// connect opens a REST connection.
func (b *bubble) connect() *restConn {
	b.t.Helper()
	conn, err := b.http.dial()
	if err != nil {
		b.t.Fatal(err)
	}
	return &restConn{Conn: conn, t: b.t, reader: bufio.NewReader(conn)}
}

// restConn is a REST connection on which bytes are sent by hand.
type restConn struct {
	net.Conn
	t      *testing.T
	reader *bufio.Reader
}

// send sends a request line, more headers, and what there is of the body.
func (c *restConn) send(line, headers, body string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.Conn, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n%s", line, headers, body); err != nil {
		c.t.Error(err)
	}
}

// receive reads one answer.
func (c *restConn) receive() (*http.Response, []byte) {
	c.t.Helper()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response, body
}
