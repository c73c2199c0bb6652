package workload

import (
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// Facts are what a file says about people: in its columns that have the names of
// attributes, as files of results have. It is safe for concurrent use.
type Facts struct {
	names []string            // of attributes
	at    []int               // the columns of the names
	cells map[string][]string // by address, as many as there are names
}

// newFacts returns nil when no column has the name of an attribute.
func newFacts(header []string) *Facts {
	f := &Facts{cells: map[string][]string{}}
	for at, name := range header {
		name = strings.TrimSpace(name)
		if _, known := enrich.SpecOf(enrich.Attribute(name)); known {
			f.names, f.at = append(f.names, name), append(f.at, at)
		}
	}
	if len(f.names) == 0 {
		return nil
	}
	return f
}

// add notes the cells of a row.
func (f *Facts) add(address string, row []string) {
	if f == nil {
		return
	}
	cells := make([]string, len(f.at))
	for i, at := range f.at {
		cells[i] = strings.Clone(strings.TrimSpace(row[at]))
	}
	f.cells[address] = cells
}

// Of are the values of the attributes that the file tells of an address.
func (f *Facts) Of(address string) map[string]string {
	facts := map[string]string{}
	for i, value := range f.cells[address] {
		if value != "" {
			facts[f.names[i]] = value
		}
	}
	return facts
}
