package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// table is what is printed and kept.
type table struct {
	machine, commit, setup string
	lines                  [][5]string
}

func newTable(c runCommand) *table {
	return &table{
		machine: fmt.Sprintf("%s, %d cores, %s; load at the start %s", processor(), runtime.NumCPU(), runtime.Version(), load()),
		commit:  commit(),
		setup: fmt.Sprintf("Measured on core %d with GOMAXPROCS=1, client, Redis and vendors on core %d; %d rounds of %s, the least counts.",
			c.Server, c.Client, c.Rounds, c.Length),
	}
}

func (t *table) head(w io.Writer) {
	fmt.Fprintf(w, "%s\ncommit %s. %s\n\n", t.machine, t.commit, t.setup)
	fmt.Fprintf(w, "%-4s  %-50s  %12s  %10s  %10s  %s\n", "", "MEASURE", "MEASURED", "MUST", "AIM", "HOW")
}

func (t *table) add(w io.Writer, r row, measured result) {
	t.lines = append(t.lines, [5]string{r.name + " " + r.what, measured.value, r.must, r.aim, measured.detail})
	fmt.Fprintf(w, "%-4s  %-50s  %12s  %10s  %10s  %s\n", r.name, r.what, measured.value, r.must, r.aim, measured.detail)
}

func (t *table) foot(w io.Writer) { fmt.Fprintf(w, "\nload at the end %s\n", load()) }

// write keeps the table as a page.
func (t *table) write(file string) error {
	var page strings.Builder
	fmt.Fprintf(&page, "# Results\n\nWritten by `make bench`; read [README.md](README.md) for what is measured how.\n\n* %s; at the end %s\n* commit %s, %s\n* %s\n\n",
		t.machine, load(), t.commit, time.Now().UTC().Format("2006-01-02 15:04 UTC"), t.setup)
	page.WriteString("| measure | measured | must | aim | how |\n| --- | --- | --- | --- | --- |\n")
	for _, line := range t.lines {
		fmt.Fprintf(&page, "| %s |\n", strings.Join(line[:], " | "))
	}
	return os.WriteFile(file, []byte(page.String()), 0o644)
}

// commit names the sources that are measured.
func commit() string {
	text, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// load is the machine's load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
