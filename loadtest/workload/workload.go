// Package workload says whom a load test asks for: addresses of people who do
// not exist, at example domains, or those of a file.
package workload

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/loadtest/scenario"
)

// Source gives the address of the nth lead. It is safe for concurrent use.
type Source func(n int64) string

// companies that leads work at.
const companies = 97

// mostRows is how many addresses of a file are read.
const mostRows = 5_000_000

// New returns the source of a workload. Sources of other names give other
// people, of the same name the same in every run.
func New(name string, w scenario.Workload) (Source, error) {
	switch w.Kind {
	case "same":
		return func(int64) string { return Address(name, 0) }, nil
	case "zipf":
		var mu sync.Mutex
		chance := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(w.People))), w.Skew, 1, uint64(w.People-1))
		return func(int64) string {
			mu.Lock()
			defer mu.Unlock()
			return Address(name, int64(chance.Uint64()))
		}, nil
	case "csv":
		addresses, err := readColumn(w.File, w.Column)
		if err != nil {
			return nil, err
		}
		return func(n int64) string { return addresses[n%int64(len(addresses))] }, nil
	default:
		return func(n int64) string { return Address(name, n) }, nil
	}
}

// Address of the nth person of a name.
func Address(name string, n int64) string {
	return fmt.Sprintf("lead.number%d@%s%d.example", n, strings.ToLower(name), n%companies)
}

// readColumn reads addresses the way the service's own imports do: whatever the
// separator and the byte order mark are. Rows without one are passed over, as
// are those that cannot be read.
func readColumn(file, column string) ([]string, error) {
	opened, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	table, err := intake.NewTable(opened, column)
	var unreadable *intake.UnreadableError
	if errors.As(err, &unreadable) && unreadable.Code == "no_email_column" {
		return nil, fmt.Errorf("%s: no column %q, but %s", file, column, columns(opened))
	} else if unreadable != nil {
		return nil, fmt.Errorf("%s: %s", file, unreadable.Message)
	} else if err != nil {
		return nil, err
	}
	var addresses []string
	for len(addresses) < mostRows {
		row, err := table.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if row.Refused == "" {
			addresses = append(addresses, strings.Clone(row.Email)) // without the rest of its line
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%s: no row has an address", file)
	}
	return addresses, nil
}

// longestHead is how much of a file's first line is shown, in bytes.
const longestHead = 300

// columns is the first line of the file.
func columns(file io.ReadSeeker) string {
	head := make([]byte, longestHead)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err.Error()
	}
	n, _ := io.ReadFull(file, head)
	first, _, _ := strings.Cut(string(head[:n]), "\n")
	return strings.Trim(strings.ToValidUTF8(first, "?"), "\ufeff\r")
}
