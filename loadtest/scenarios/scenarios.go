// Package scenarios holds the load tests that come with the program.
package scenarios

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// Files are the scenarios, NAME.yaml each.
//
//go:embed *.yaml
var Files embed.FS

// Names lists the scenarios in order.
func Names() (names []string) {
	entries, err := Files.ReadDir(".")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())))
	}
	slices.Sort(names)
	return names
}
