package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// asMain has this test's binary be the program.
const asMain = "LOADTEST_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// elsewhere is a service, and vendors whose ledgers can be read so many times.
// What comes after is kept waiting until the test ends.
type elsewhere struct {
	address  string
	asked    chan struct{} // some questions were asked
	silent   chan struct{} // a reading is kept waiting
	readings atomic.Int64
	fails    int64 // which reading does
}

func newElsewhere(t *testing.T, readings int64) *elsewhere {
	t.Helper()
	e := &elsewhere{asked: make(chan struct{}), silent: make(chan struct{})}
	var questions atomic.Int64
	ends := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/enrich" && questions.Add(1) == 10:
			close(e.asked)
		case r.URL.Path == "/_control/summary" && e.readings.Add(1) > readings:
			close(e.silent)
			<-ends
		case r.URL.Path == "/_control/summary" && e.readings.Load() == e.fails:
			w.WriteHeader(http.StatusBadGateway)
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(func() { close(ends); server.Close() })
	e.address = strings.TrimPrefix(server.URL, "http://")
	return e
}

// start runs two scenarios of ten minutes there, one after the other, in a
// folder of its own. Whoever reads what the program prints has gone.
func (e *elsewhere) start(t *testing.T) (running *program, folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, name := range []string{"first.yaml", "second.yaml"} {
		text := fmt.Sprintf("{length: 10m, target: {rest: %q, vendors: %q}, traffic: [{name: clicks, via: rest, rate: 50}], slo: [failed_share <= 0]}", e.address, e.address)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	running = &program{Cmd: exec.Command(os.Args[0], "run", "first.yaml", "second.yaml", "--really", "--out", "reports", "--markdown", "KEPT.md"), ended: make(chan struct{})}
	running.Dir, running.Env = folder, append(os.Environ(), asMain+"=1")
	running.Stderr = &running.said
	output, err := running.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(running.ended)
		_ = running.Wait()
	}()
	output.Close()
	return running, folder
}

// program is a load test in a process of its own.
type program struct {
	*exec.Cmd

	said  bytes.Buffer // to be read when it has ended
	ended chan struct{}
}

// interrupt sends a signal once something has happened.
func (p *program) interrupt(t *testing.T, once chan struct{}, sent syscall.Signal) {
	t.Helper()
	select {
	case <-once:
	case <-p.ended:
		t.Fatalf("ended by itself: %s", p.ProcessState)
	}
	if err := p.Process.Signal(sent); err != nil {
		t.Fatal(err)
	}
}

// TestAnInterruptedRunLeavesItsReport, begins nothing else and is kept nowhere
// beside good ones.
func TestAnInterruptedRunLeavesItsReport(t *testing.T) {
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sent) {
			continue // the tests run in the background, and so does what they test
		}
		e := newElsewhere(t, 2)
		running, folder := e.start(t)
		running.interrupt(t, e.asked, sent)
		<-running.ended
		if code := running.ProcessState.ExitCode(); code != 2 {
			t.Errorf("%s: exit code %d, %s", sent, code, running.ProcessState)
		}
		if read := e.readings.Load(); read != 2 {
			t.Errorf("%s: ledgers were read %d times, want before and after the one run", sent, read)
		}
		if pages, _ := filepath.Glob(filepath.Join(folder, "reports", "first-*.html")); len(pages) != 1 {
			t.Errorf("%s: %d pages", sent, len(pages))
		}
		kept, _ := filepath.Glob(filepath.Join(folder, "reports", "*.json"))
		if len(kept) != 1 {
			t.Fatalf("%s: kept %v", sent, kept)
		}
		r, err := readReport(kept[0])
		if err != nil {
			t.Fatal(err)
		}
		if r.Scenario != "first" || !r.Interrupted || r.Passed || !r.Checks[0].Passed || r.Figures["answered"] < 9 {
			t.Errorf("%s: %s, interrupted %t, passed %t, checks %+v, figures %v", sent, r.Scenario, r.Interrupted, r.Passed, r.Checks, r.Figures)
		}
		if verdicts, _ := filepath.Glob(filepath.Join(folder, "KEPT.*")); len(verdicts) != 0 {
			t.Errorf("%s: %v", sent, verdicts)
		}
	}
}

// TestWhyAnInterruptedRunLeavesNoReportIsSaid has vendors that cannot tell what
// they booked.
func TestWhyAnInterruptedRunLeavesNoReportIsSaid(t *testing.T) {
	e := newElsewhere(t, 2)
	e.fails = 2
	running, _ := e.start(t)
	running.interrupt(t, e.asked, syscall.SIGTERM)
	<-running.ended
	if said := running.said.String(); running.ProcessState.ExitCode() != 2 || !strings.Contains(said, "loadtest: interrupted\n") || !strings.Contains(said, "502") {
		t.Errorf("%s: %s", running.ProcessState, said)
	}
}

// TestTheSecondSignalEndsAtOnce though the first one's report still waits for a
// ledger.
func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	e := newElsewhere(t, 1)
	running, folder := e.start(t)
	running.interrupt(t, e.asked, syscall.SIGTERM)
	running.interrupt(t, e.silent, syscall.SIGTERM)
	<-running.ended
	if status, ok := running.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended as %s", running.ProcessState)
	}
	if kept, _ := filepath.Glob(filepath.Join(folder, "reports", "*")); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
}
