package server

import (
	"net"
	"sync"
	"sync/atomic"
)

// door is a listener that knows the connections on which nothing has been sent
// yet: neither gRPC's nor HTTP's graceful stop ends those at once.
type door struct {
	net.Listener

	mu     sync.Mutex
	silent map[*visitor]struct{}
	closed bool
}

func newDoor(listener net.Listener) *door {
	return &door{Listener: listener, silent: map[*visitor]struct{}{}}
}

// Accept returns the next connection.
func (d *door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	entering := &visitor{Conn: conn, door: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = conn.Close()
		return entering, nil
	}
	d.silent[entering] = struct{}{}
	return entering, nil
}

// dismiss closes the silent connections, and those that are accepted later.
func (d *door) dismiss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for silent := range d.silent {
		_ = silent.Conn.Close()
	}
	clear(d.silent)
}

func (d *door) forget(heard *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.silent, heard)
}

// visitor is a connection that tells its door when something was sent on it.
type visitor struct {
	net.Conn
	door  *door
	heard atomic.Bool
}

// Read reads from the connection.
func (v *visitor) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	if n > 0 && v.heard.CompareAndSwap(false, true) {
		v.door.forget(v)
	}
	return n, err
}

// Close closes the connection.
func (v *visitor) Close() error {
	v.door.forget(v)
	return v.Conn.Close()
}
