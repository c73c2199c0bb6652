// Package fleet starts what is measured as real processes: replicas of enrichd,
// Redis, and the floors of a benchmark. It reads what they cost and can freeze,
// kill and stop them.
package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// AnyCore leaves a process to the scheduler.
const AnyCore = -1

// Process is one running program. It is safe for concurrent use. Whoever
// started it calls Stop or Kill.
type Process struct {
	// Name in messages.
	Name string
	// GRPC, REST and Admin are where it listens, if it said so.
	GRPC, REST, Admin string

	command *exec.Cmd
	leaving atomic.Bool
	ended   chan struct{} // closed when it has ended
	last    lastLines
}

// Program is what to start.
type Program struct {
	Name string
	// Args are the path and the arguments.
	Args []string
	// Core pins the program to one core and to one running goroutine; AnyCore
	// does not.
	Core int
	// Log gets what the program writes to its standard error; empty: nobody.
	Log string
}

// start starts the program. Its standard error is read line by line; heard is
// called with each until it returns true.
func start(program Program, heard func(line []byte) bool) (*Process, error) {
	args := program.Args
	// Asked here, because taskset would say it in a log of its own.
	if _, err := exec.LookPath(args[0]); err != nil {
		return nil, fmt.Errorf("%s: %w", program.Name, err)
	}
	if program.Core != AnyCore {
		args = append([]string{"taskset", "-c", strconv.Itoa(program.Core)}, args...)
	}
	command := exec.Command(args[0], args[1:]...)
	command.Env = os.Environ()
	if program.Core != AnyCore {
		command.Env = append(command.Env, "GOMAXPROCS=1")
	}
	command.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, // a killed load test leaves nothing behind
		Setpgid:   true,            // keys that interrupt it are not for those that it measures
	}
	output, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", program.Name, err)
	}
	p := &Process{Name: program.Name, command: command, ended: make(chan struct{})}
	var log *os.File
	if program.Log != "" {
		if log, err = os.OpenFile(filepath.Clean(program.Log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			p.Kill()
			return nil, err
		}
	}
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(output)
		lines.Buffer(nil, 1<<20)
		listening := true
		for lines.Scan() {
			p.last.add(lines.Text())
			if log != nil {
				fmt.Fprintln(log, lines.Text())
			}
			listening = listening && !heard(lines.Bytes())
		}
		if log != nil {
			log.Close()
		}
		_ = command.Wait()
	}()
	return p, nil
}

// Serve starts a program that writes a line of JSON with the message "serving"
// and its addresses to its standard error, and waits for that line.
func Serve(ctx context.Context, program Program) (*Process, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	type listening struct{ Msg, GRPC, REST, Admin string }
	serving := make(chan listening, 1)
	p, err := start(program, func(line []byte) bool {
		var said listening
		if json.Unmarshal(line, &said) != nil || said.Msg != "serving" {
			return false
		}
		serving <- said
		return true
	})
	if err != nil {
		return nil, err
	}
	select {
	case at := <-serving:
		p.GRPC, p.REST, p.Admin = at.GRPC, at.REST, at.Admin
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("%s did not start:\n%s", p.Name, p.last.text())
	case <-ctx.Done():
		p.Kill()
		return nil, fmt.Errorf("%s did not start in time:\n%s", p.Name, p.last.text())
	}
}

// PID of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Signal sends a signal; to a process that has ended it does nothing.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.ended
}

// Leave asks the process to end. From then on it is Leaving.
func (p *Process) Leave() error {
	p.leaving.Store(true)
	return p.Signal(syscall.SIGTERM)
}

// Leaving tells whether the process was asked to end: a load balancer sends it
// nothing new, and what is under way there finishes.
func (p *Process) Leaving() bool { return p.leaving.Load() }

// Stop asks the process to end and kills it when it has not within 15 seconds.
func (p *Process) Stop() {
	_ = p.Signal(syscall.SIGCONT)
	_ = p.Leave()
	select {
	case <-p.ended:
	case <-time.After(15 * time.Second):
		p.Kill()
	}
}

// away is an error for a process that runs: another one in its place would
// leave it to itself. One that was asked to end is waited for.
func away(p *Process) error {
	switch {
	case p == nil || p.Ended():
		return nil
	case p.Leaving():
		p.Stop()
		return nil
	}
	return fmt.Errorf("%s runs already", p.Name)
}

// lastLines keeps the newest lines of a log for messages.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lastLines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	if len(l.lines) > 20 {
		l.lines = l.lines[1:]
	}
}

func (l *lastLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
