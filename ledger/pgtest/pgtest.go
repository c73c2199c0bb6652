// Package pgtest runs a real PostgreSQL inside tests: one cluster for the test
// process on a free port of the loopback interface, with a database of its own
// for each test.
package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const (
	startWithin = 30 * time.Second
	lookEvery   = 20 * time.Millisecond
)

// Cluster is a running PostgreSQL.
type Cluster struct {
	port   int
	folder string
	bin    string
	as     *syscall.Credential // nil: this process's own user
	args   []string
	cmd    *exec.Cmd
	log    bytes.Buffer
	count  int
}

// Fast makes the cluster not wait for the disk: what it answered survives its
// own death, but not that of the machine.
const Fast = "fsync=off"

// Start runs a cluster with the given settings until the test ends. It fails the
// test when PostgreSQL is not installed.
func Start(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c := &Cluster{bin: binaries(t)}
	for _, setting := range settings {
		c.args = append(c.args, "-c", setting)
	}
	folder, err := os.MkdirTemp("", "pgtest") // not t.TempDir: its parents let no other user in
	if err != nil {
		t.Fatal(err)
	}
	c.folder = folder
	t.Cleanup(func() {
		c.Stop()
		os.RemoveAll(folder)
	})
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		c.as = postgresUser(t)
		if err := os.Chown(folder, int(c.as.Uid), int(c.as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	initdb := c.command("initdb", "-D", c.data(), "-U", "enrichd", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Stdout, initdb.Stderr = &said, &said
	if err := initdb.Run(); err != nil {
		t.Fatalf("pgtest: initdb: %v\n%s", err, said.String())
	}
	for range 5 {
		c.port = freePort(t)
		if err = c.Run(); err == nil {
			return c
		}
		c.Kill() // another process may have taken the port
	}
	t.Fatalf("pgtest: postgres does not start: %v\n%s", err, c.log.String())
	return nil
}

// Database makes an empty database and returns its connection string.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	db, err := sql.Open("pgx", c.name("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c.count++
	name := "test" + strconv.Itoa(c.count)
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return c.name(name)
}

// Run starts the cluster, after Kill or Stop on the same port, and waits until
// it answers.
func (c *Cluster) Run() error {
	c.log.Reset()
	args := []string{"-D", c.data(), "-p", strconv.Itoa(c.port), "-h", "127.0.0.1", "-k", c.folder}
	c.cmd = c.command("postgres", append(args, c.args...)...)
	c.cmd.Stderr = &c.log
	if err := c.cmd.Start(); err != nil {
		return err
	}
	db, err := sql.Open("pgx", c.name("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lookEvery):
		}
	}
}

// Kill ends the server as a crash would.
func (c *Cluster) Kill() { c.end(syscall.SIGQUIT) }

// Stop ends the server in order.
func (c *Cluster) Stop() { c.end(syscall.SIGINT) }

func (c *Cluster) end(signal syscall.Signal) {
	if c.cmd == nil || c.cmd.Process == nil {
		return
	}
	c.cmd.Process.Signal(signal)
	c.cmd.Wait()
	c.cmd = nil
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }

func (c *Cluster) name(database string) string {
	return fmt.Sprintf("postgres://enrichd@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as, Setpgid: true}
	return cmd
}

// binaries finds the folder of initdb and postgres: Debian keeps them out of
// the search path, one folder for each version.
func binaries(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1])
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	t.Fatal("pgtest: PostgreSQL is not installed; on Debian: apt-get install postgresql")
	return ""
}

func postgresUser(t testing.TB) *syscall.Credential {
	t.Helper()
	found, err := user.Lookup("postgres")
	if err != nil {
		t.Fatalf("pgtest: root cannot run PostgreSQL, and there is no user to run it as: %v", err)
	}
	uid, _ := strconv.Atoi(found.Uid)
	gid, _ := strconv.Atoi(found.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
