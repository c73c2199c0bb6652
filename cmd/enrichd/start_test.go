package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestAStopEndsAStart that waits for a database which takes connections and says
// nothing: there is nothing to be finished.
func TestAStopEndsAStart(t *testing.T) {
	database, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	text := `store: {postgresql: "postgres://enrichd@` + database.Addr().String() + `/enrichd?sslmode=disable&connect_timeout=60"}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	enrichd := program(t, "serve", "--config", file)
	var said bytes.Buffer
	enrichd.Stderr = &said
	if err := enrichd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := database.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	if err := enrichd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := enrichd.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, said.String())
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it was stopped after %s", took)
	}
}
