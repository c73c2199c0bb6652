package fakevendor

import (
	"context"
	"net"
	"sync"
)

// Pipe is a listener in memory whose connections are made with net.Pipe: give
// it to Server.Serve, and its DialContext to an http.Transport. No socket is
// opened, so it works inside a testing/synctest bubble if it is made, served
// and closed there.
type Pipe struct {
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

var _ net.Listener = (*Pipe)(nil)

// NewPipe returns an open Pipe.
func NewPipe() *Pipe { return &Pipe{accept: make(chan net.Conn), closed: make(chan struct{})} }

// DialContext connects to the server, whatever the network and address. It
// waits for the server to accept, at most until ctx ends.
func (p *Pipe) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.accept <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the server's end of the next connection.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accept:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listening; connections made stay open.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns the pipe's address.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
