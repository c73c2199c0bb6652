// Package workload says whom a load test asks for: addresses of people who do
// not exist, at example domains, or those of a file.
package workload

import (
	"cmp"
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

// New returns the source of a workload, and what its file says about the people,
// nil when it says nothing. Sources of other names give other people, of the same
// name the same in every run.
func New(name string, w scenario.Workload) (Source, *Facts, error) {
	switch w.Kind {
	case "same":
		return func(int64) string { return Address(name, 0) }, nil, nil
	case "zipf":
		var mu sync.Mutex
		chance := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(w.People))), w.Skew, 1, uint64(w.People-1))
		return func(int64) string {
			mu.Lock()
			defer mu.Unlock()
			return Address(name, int64(chance.Uint64()))
		}, nil, nil
	case "csv":
		addresses, facts, err := readFile(w.File, w.Column)
		if err != nil {
			return nil, nil, err
		}
		return func(n int64) string { return addresses[n%int64(len(addresses))] }, facts, nil
	default:
		return func(n int64) string { return Address(name, n) }, nil, nil
	}
}

// Address of the nth person of a name.
func Address(name string, n int64) string {
	return fmt.Sprintf("lead.number%d@%s%d.example", n, strings.ToLower(name), n%companies)
}

// readFile reads addresses the way the service's own imports do: whatever the
// separator and the byte order mark are. Rows without one are passed over, as
// are those that cannot be read. Only a regular file is read: of others there may
// be no end, or no second reading.
func readFile(file, column string) (addresses []string, facts *Facts, err error) {
	if info, err := os.Stat(file); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is no regular file", file)
	}
	opened, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close()
	table, err := intake.NewTable(opened, column)
	var unreadable *intake.UnreadableError
	if errors.As(err, &unreadable) && unreadable.Code == "no_email_column" {
		return nil, nil, fmt.Errorf("%s: no column %q, but %s; column says which one has the addresses", file, cmp.Or(column, "email"), columns(opened))
	} else if unreadable != nil {
		return nil, nil, fmt.Errorf("%s: %s", file, unreadable.Message)
	} else if err != nil {
		return nil, nil, err
	}
	facts = newFacts(table.Header())
	for len(addresses) < mostRows {
		row, err := table.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		if row.Refused == "" {
			address := strings.Clone(row.Email) // without the rest of its line
			addresses = append(addresses, address)
			facts.add(address, row.Cells)
		}
	}
	if len(addresses) == 0 {
		return nil, nil, fmt.Errorf("%s: no row has an address", file)
	}
	return addresses, facts, nil
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
