package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCommand prints which program this is.
type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// build is what the Go tool recorded about the program.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run prints the version.
func (c *versionCommand) Run(terminal terminal) error {
	build := readBuild()
	if c.JSON {
		return json.NewEncoder(terminal.out).Encode(build)
	}
	fmt.Fprintf(terminal.out, "enrichd %s %s %s %s\n", build.Version, build.Revision, build.Go, build.Platform)
	return nil
}

func readBuild() build {
	read := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return read
	}
	if info.Main.Version != "" {
		read.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			read.Revision = setting.Value
		case "vcs.time":
			read.Time = setting.Value
		}
	}
	return read
}
