package results

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Origin says of what, where and when something was measured.
type Origin struct {
	Commit  string    `json:"commit"`
	Machine string    `json:"machine"`
	Load    string    `json:"load"` // average of the last minute
	Time    time.Time `json:"time"`
}

// Unknown is the commit of what nobody knows the sources of.
const Unknown = "unknown"

// String names what differs from row to row.
func (o Origin) String() string {
	return fmt.Sprintf("%s, %s, %s", o.Commit, o.Time.UTC().Format("2006-01-02 15:04"), o.Load)
}

// Here is the origin of what is measured now.
func Here() Origin {
	return Origin{
		Commit:  commit(),
		Machine: fmt.Sprintf("%s, %d cores, %s", processor(), runtime.NumCPU(), runtime.Version()),
		Load:    load(),
		Time:    time.Now().UTC().Truncate(time.Second),
	}
}

// commit names the sources that are measured, and tells when they were changed
// since. The results themselves are no sources.
func commit() string {
	text, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return Unknown
	}
	name := strings.TrimSpace(string(text))
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)loadtest/RESULTS.*").Output()
	if err != nil || len(changed) > 0 {
		return name + dirty
	}
	added, err := exec.Command("git", "ls-files", "--others", "--exclude-standard", "--", ":(top)*.go").Output()
	if err != nil || len(added) > 0 {
		return name + dirty
	}
	return name
}

// dirty follows a commit whose sources were changed since.
const dirty = "-dirty"

// BuiltFrom names the sources of a program that was built elsewhere, by what the
// compiler wrote into it.
func BuiltFrom(binary string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return Unknown
	}
	return revision(info.Settings)
}

func revision(settings []debug.BuildSetting) string {
	name, changed := Unknown, false
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) > 12:
			name = setting.Value[:12]
		case setting.Key == "vcs.modified":
			changed = setting.Value == "true"
		}
	}
	if changed {
		name += dirty
	}
	return name
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

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
