package main

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary the program when a test starts it as such.
func TestMain(m *testing.M) {
	if os.Getenv("ENRICHD_TEST_AS_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

// program is the test binary as enrichd.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), "ENRICHD_TEST_AS_PROGRAM=1")
	return command
}

// TestASecondSignalEndsTheProgram sends signals to a program that waits for
// input, which the first cannot end.
func TestASecondSignalEndsTheProgram(t *testing.T) {
	enrichd := program(t, "normalize", "--lines")
	in, err := enrichd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := enrichd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := enrichd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("jane@acme.example\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "jane@acme.example") {
		t.Fatalf("it says %q, %v", line, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- enrichd.Wait() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); ; {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if status, ok := exitStatus(err, &exit); !ok || status.Signal() != syscall.SIGINT {
				t.Errorf("it ended with %v, want the signal", err)
			}
			return
		case <-tick.C:
			_ = enrichd.Process.Signal(os.Interrupt)
		case <-limit:
			_ = enrichd.Process.Kill()
			t.Fatal("signals do not end it")
		}
	}
}

func exitStatus(err error, exit **exec.ExitError) (syscall.WaitStatus, bool) {
	if !errors.As(err, exit) {
		return 0, false
	}
	status, ok := (*exit).Sys().(syscall.WaitStatus)
	return status, ok && status.Signaled()
}

// TestClosedAndFullOutputs checks that output that goes nowhere is no success
// and no panic.
func TestClosedAndFullOutputs(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"providers", "list"}, {"providers", "list", "--json"}, {"normalize", "--lines"}} {
		var said bytes.Buffer
		full := program(t, args...)
		full.Stdin, full.Stderr = strings.NewReader(strings.Repeat("jane@acme.example\n", 5000)), &said
		device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("no /dev/full here")
		}
		full.Stdout = device
		if err := full.Run(); full.ProcessState.ExitCode() != 1 || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "no space") {
			t.Errorf("%v into a full disk: %v: %s", args, err, &said)
		}
		_ = device.Close()

		said.Reset()
		closed := program(t, args...)
		closed.Stdin, closed.Stderr = strings.NewReader(strings.Repeat("jane@acme.example\n", 5000)), &said
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		closed.Stdout = writer
		_ = reader.Close()
		_ = closed.Run()
		_ = writer.Close()
		if strings.Contains(said.String(), "goroutine") || strings.Count(said.String(), "\n") > 1 {
			t.Errorf("%v into a closed pipe says:\n%s", args, &said)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"version", 0, "enrichd "},
		{"version --json", 0, `"platform"`},
		{"--help", 0, "Exit codes:"},
		{"enrich --help", 0, "--column"},
		{"nonsense", 2, "nonsense"},
		{"enrich", 1, "--file"},
		{"enrich --parallel 0 a@acme.example", 2, "--parallel: 0 is not from 1 to 1000"},
		{"enrich --parallel=-3 a@acme.example", 2, "-3 is not from 1 to 1000"},
		{"demo --once --parallel 0", 2, "--parallel: 0 is not from 1 to 1000"},
		{"demo --parallel many", 2, "--parallel"},
		{"demo --grpc 127.0.0.1:99999", 1, "port"},
		{"enrich --file /does/not/exist", 1, "/does/not/exist"},
		{"enrich --file .", 1, "directory"},
		{"enrich --lane fast a@acme.example", 2, "--lane"},
		{"serve", 2, "--config"},
		{"serve --config /does/not/exist", 2, "/does/not/exist"},
		{"serve --config .", 2, "is a directory"},
		{"config check", 2, "<file>"},
		{"config check .", 2, "is a directory"},
		{"config check /dev/zero", 1, "longer than"},
		{"fakevendor --config .", 2, "is a directory"},
		{"fakevendor --config /dev/zero", 1, "longer than"},
		{"fakevendor --listen nowhere", 1, "nowhere"},
		{"fakevendor --config tools_test.go", 1, "tools_test.go: "},
		{"normalize .", 1, "directory"},
		{"normalize /does/not/exist", 1, "/does/not/exist"},
		{"normalize --day yesterday", 1, "--day"},
		{"normalize --profile crumple", 2, "--profile"},
		{"normalize --config .", 2, "is a directory"},
		{"providers", 2, "list"},
		{"providers list --folder /does/not/exist", 2, "/does/not/exist"},
		{"providers list --folder main.go", 2, "main.go"},
		{"providers check nobody", 1, "nobody"},
		{"providers replay", 2, "<file>"},
		{"providers replay .", 2, "is a directory"},
		{"providers replay main.go", 1, "main.go"},
		{"providers replay /dev/zero", 1, "longer than"},
	} {
		code, out, failed := command(t, "", strings.Fields(test.args)...)
		if code != test.code {
			t.Errorf("enrichd %s: exit code %d, want %d: %s", test.args, code, test.code, failed)
		}
		if text := out + failed; !strings.Contains(text, test.says) {
			t.Errorf("enrichd %s says nothing of %q: %s", test.args, test.says, text)
		}
		if lines := strings.Count(failed, "\n"); lines > 2 && code == 1 || lines > 6 {
			t.Errorf("enrichd %s says too much:\n%s", test.args, failed)
		}
	}
}

// TestATakenPortSaysWhatToDo has another program listen where a command wants to.
func TestATakenPortSaysWhatToDo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	if err := os.WriteFile(file, []byte("server: {grpc: \""+address+"\", http: 127.0.0.1:0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := filepath.Join(t.TempDir(), "admin.yaml")
	if err := os.WriteFile(admin, []byte("server: {grpc: 127.0.0.1:0, http: 127.0.0.1:0}\ntelemetry: {admin: \""+address+"\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		says string
		args []string
	}{
		{`make demo DEMO="--grpc`, []string{"demo", "--grpc", address, "--http", "127.0.0.1:0"}},
		{`make demo DEMO="--grpc`, []string{"demo", "--grpc", "127.0.0.1:0", "--http", address}},
		{"server.grpc", []string{"serve", "--config", file}},
		{"telemetry.admin", []string{"serve", "--config", admin}},
		{"--listen", []string{"fakevendor", "--listen", address}},
	} {
		code, _, failed := command(t, "", test.args...)
		if code != 1 || !strings.Contains(failed, test.says) || !strings.Contains(failed, address) {
			t.Errorf("%v: exit code %d: %s", test.args, code, failed)
		}
	}
}
