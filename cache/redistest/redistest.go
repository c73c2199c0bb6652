// Package redistest runs real Redis servers inside tests: each on a free port
// of the loopback interface, with a folder of its own, ended with the test.
package redistest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	startWithin = 20 * time.Second
	lookEvery   = 5 * time.Millisecond
)

// Server is one running Redis.
type Server struct {
	// Addr is where it listens, host:port. It stays the same over restarts.
	Addr string

	t    testing.TB
	file string // of the configuration, "" for none
	tls  *tls.Config
	args []string
	dir  string
	cmd  *exec.Cmd
	died chan struct{} // closed when cmd has ended
}

// keepNothing makes a server write nothing to disk.
var keepNothing = []string{"--save", "", "--appendonly", "no"}

// Start runs a Redis that keeps nothing on disk, and waits until it answers.
// Further arguments are those of redis-server, such as "--requirepass", "x".
// The test fails if redis-server is not installed.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, func(s *Server) { s.args = slices.Concat(keepNothing, args) })
}

// start runs a server that set has set up.
func start(t testing.TB, set func(*Server)) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("redistest: redis-server is not installed; on Debian: apt-get install redis-server")
	}
	s := &Server{t: t, dir: t.TempDir()}
	set(s)
	for range 5 {
		s.Addr = freeAddr(t)
		if err := s.run(); err == nil {
			t.Cleanup(s.Kill)
			return s
		}
		s.Kill() // another process may have taken the port
	}
	t.Fatalf("redistest: redis-server does not start:\n%s", s.log())
	return nil
}

// freeAddr returns an address on which nobody listens.
func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("redistest: no free port: %v", err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (s *Server) run() error {
	_, port, _ := strings.Cut(s.Addr, ":")
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"--bind", "127.0.0.1", "--dir", s.dir}
	if s.tls == nil {
		args = append(args, "--port", port)
	} else {
		args = append(args, "--port", "0", "--tls-port", port)
	}
	if s.file != "" {
		args = append([]string{s.file}, args...)
	}
	s.cmd = exec.Command("redis-server", append(args, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.died = make(chan struct{})
	go func(cmd *exec.Cmd, died chan struct{}) { cmd.Wait(); close(died) }(s.cmd, s.died)

	look := time.NewTicker(lookEvery)
	defer look.Stop()
	giveUp := time.After(startWithin)
	for {
		select {
		case <-s.died:
			return errors.New("redis-server ended")
		case <-giveUp:
			return errors.New("redis-server does not answer")
		case <-look.C:
			if s.answers() {
				return nil
			}
		}
	}
}

// Do sends one command without spaces in its words and returns the answer's
// text: a status, a number, or all lines of a bulk string. The test fails if
// the answer is an error.
func (s *Server) Do(words ...string) string {
	s.t.Helper()
	answer, err := s.ask(strings.Join(words, " "))
	if err != nil {
		s.t.Fatalf("redistest: %s: %v", words[0], err)
	}
	return answer
}

func (s *Server) ask(command string) (string, error) {
	var conn net.Conn
	var err error
	if dialer := (&net.Dialer{Timeout: time.Second}); s.tls == nil {
		conn, err = dialer.Dial("tcp", s.Addr)
	} else {
		conn, err = tls.DialWithDialer(dialer, "tcp", s.Addr, s.tls)
	}
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	fmt.Fprintf(conn, "%s\r\n", command)
	answer := bufio.NewReader(conn)
	line, err := answer.ReadString('\n')
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(line[1:])
	switch line[0] {
	case '-':
		return "", errors.New(text)
	case '$':
		size, err := strconv.Atoi(text)
		if err != nil || size < 0 {
			return "", err
		}
		bulk := make([]byte, size)
		_, err = io.ReadFull(answer, bulk)
		return string(bulk), err
	}
	return text, nil
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(10 * lookEvery)
	defer look.Stop()
	giveUp := time.After(startWithin)
	for !holds() {
		select {
		case <-giveUp:
			t.Fatalf("redistest: %s: not within %v", what, startWithin)
		case <-look.C:
		}
	}
}

// answers tells whether the server answers a PING, be it with a refusal for
// want of a password.
func (s *Server) answers() bool {
	answer, err := s.ask("PING")
	return err == nil && answer == "PONG" || err != nil && strings.HasPrefix(err.Error(), "NOAUTH")
}

func (s *Server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Kill ends the server at once, as a crash does. It may be called again.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	s.cmd.Process.Kill()
	<-s.died
	s.cmd = nil
}

// Restart runs the server anew at the same address, empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.run(); err != nil {
		s.t.Fatalf("redistest: redis-server does not start again: %v\n%s", err, s.log())
	}
}

// Pause stops the server from answering, while its port stays open, until
// Resume.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("redistest: %v: %v", sig, err)
	}
}
