package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the processor time that the process has used, with all its threads,
// in nanoseconds by the kernel's clock of that process.
func (p *Process) CPU() (time.Duration, error) {
	// A process's clock has its inverted number in the upper bits and the kind
	// in the lower three (clock_getcpuclockid(3)).
	const scheduled = 2
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^p.PID()<<3|scheduled), &at); err != nil {
		return 0, fmt.Errorf("%s: processor time: %w", p.Name, err)
	}
	return time.Duration(at.Nano()), nil
}

// Usage is what a process holds.
type Usage struct {
	RSS     int64 `json:"rss"` // bytes
	Threads int64 `json:"threads"`
	Files   int64 `json:"files"` // open file descriptors
	// Goroutines as the process itself tells; 0: it did not.
	Goroutines int64 `json:"goroutines,omitempty"`
}

// Usage reads what the process holds now. Goroutines are asked for when the
// process has an admin listener, and not waited for longer than ctx lasts.
func (p *Process) Usage(ctx context.Context) (Usage, error) {
	folder := filepath.Join("/proc", strconv.Itoa(p.PID()))
	text, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			u.RSS = kib << 10
		case "Threads":
			u.Threads, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	files, err := os.ReadDir(filepath.Join(folder, "fd"))
	u.Files = int64(len(files))
	if p.Admin != "" {
		u.Goroutines, _ = goroutines(ctx, p.Admin) // one that is too busy to say is still seen by the kernel
	}
	return u, err
}

// goroutines reads how many goroutines a process runs from its metrics.
func goroutines(ctx context.Context, admin string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	request.Close = true // a connection that stayed would be counted among the open files
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "go_goroutines "); found {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, errors.Join(lines.Err(), errors.New("the metrics tell no goroutines"))
}
