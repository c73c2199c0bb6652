// Package workload says whom a load test asks for: addresses of people who do
// not exist, at example domains, or those of a file.
package workload

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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

func readColumn(file, column string) ([]string, error) {
	opened, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	rows := csv.NewReader(opened)
	rows.FieldsPerRecord = -1
	rows.ReuseRecord = true
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	at := slices.IndexFunc(head, func(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), column) })
	if at < 0 {
		return nil, fmt.Errorf("%s: no column %q", file, column)
	}
	var addresses []string
	for len(addresses) < mostRows {
		row, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if at < len(row) && row[at] != "" {
			addresses = append(addresses, strings.Clone(row[at]))
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%s: no addresses", file)
	}
	return addresses, nil
}
