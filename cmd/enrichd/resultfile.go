package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// resultFile writes results. Over a file of an earlier run it writes beside it
// and takes its place when closed, so that a crash at any time loses nothing:
//
//	out.csv        what the last run left, whole
//	out.csv.part   this run's rows, each flushed; they go before those of out.csv
//
// The headings go with the first row, so that a run that comes to none leaves
// nothing.
type resultFile struct {
	columns []string
	begun   bool // the headings are written
	out     io.Writer
	file    *os.File     // nil: out is not ours to close
	path    string       // whose place the file takes; empty: none
	earlier *earlierFile // what stood there; nil: nothing
	unlock  func()       // lets other runs write at the path
}

const partSuffix = ".part"

// openResults opens the file for results of leads with the given header, or
// standard output for "-". What an interrupted run left is put in place first.
func openResults(path string, stdout io.Writer, header []string) (*resultFile, error) {
	columns := append(slices.Clone(header), resultColumns()...)
	results := &resultFile{columns: columns, out: stdout}
	if path == "-" {
		return results, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder", path)
	case err == nil && !info.Mode().IsRegular(): // a pipe or device: nothing to continue
		if results.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return nil, err
		}
		results.out = results.file
		return results, nil
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil, err
	}
	results.path = path
	if results.unlock, err = holdResults(path); err != nil {
		return nil, err
	}
	if err := results.open(); err != nil {
		results.unlock()
		return nil, err
	}
	return results, nil
}

// open opens the files at the path.
func (f *resultFile) open() (err error) {
	if _, err := os.Stat(f.path + partSuffix); err == nil {
		if err := putInPlace(f.path, f.columns); err != nil {
			return err
		}
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(f.path); err == nil {
		mode = info.Mode().Perm()
	}
	if f.earlier, err = openEarlier(f.path, f.columns); err != nil {
		return err
	}
	if f.file, err = os.OpenFile(f.path+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode); err != nil {
		return errors.Join(err, f.earlier.close())
	}
	f.out = f.file
	return nil
}

// resume returns the leads with what an earlier run found out about them. Its
// rows must be those of the leads.
func (f *resultFile) resume(leads *leadFile) func() (lead, error) {
	width := len(leads.header)
	return func() (lead, error) {
		next, err := leads.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return lead{}, err
		}
		cells, earlierErr := f.earlier.next()
		switch {
		case errors.Is(earlierErr, io.EOF):
			return next, err
		case earlierErr != nil:
			return lead{}, earlierErr
		case err != nil:
			return lead{}, fmt.Errorf("%s has more rows than the file of leads: name another file with --out", f.path)
		case !slices.EqualFunc(cells[:width], next.cells, sameCell):
			return lead{}, fmt.Errorf("line %d of the leads is not the lead of row %d in %s: name another file with --out", next.line, leads.count, f.path)
		}
		if _, again := failed(cells[width:]); !again {
			next.earlier = cells
		}
		return next, nil
	}
}

// sameCell tells whether a cell that was read back is the one of a lead.
func sameCell(read, cell string) bool {
	return read == strings.ReplaceAll(harmless(cell), "\r\n", "\n") // as encoding/csv reads it
}

// write writes one row, the first one under the headings.
func (f *resultFile) write(cells []string) error {
	rows := [][]string{f.columns, cells}
	if f.begun {
		rows = rows[1:]
	}
	f.begun = true
	var text []byte
	for _, cells := range rows {
		row, err := encodeRow(cells)
		if err != nil {
			return err
		}
		text = append(text, row...)
	}
	_, err := f.out.Write(text) // at once: a kill leaves no headings alone
	return err
}

// encodeRow is a row as it stands in a file of results.
func encodeRow(cells []string) ([]byte, error) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = harmless(cell)
	}
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	if err := writer.Write(safe); err != nil {
		return nil, err
	}
	writer.Flush()
	return text.Bytes(), writer.Error()
}

// close puts the results in their place, after a run that ended with an error or
// nil. One that was refused leaves what was there before.
func (f *resultFile) close(ended error) error {
	if f.file == nil {
		return nil
	}
	if f.unlock != nil {
		defer f.unlock()
	}
	err := errors.Join(f.file.Close(), f.earlier.close())
	switch {
	case err != nil || f.path == "":
		return err
	case errors.As(ended, new(refusedRun)):
		return os.Remove(f.path + partSuffix)
	default:
		return putInPlace(f.path, f.columns)
	}
}

// putInPlace completes the part beside path with the rows of path that it has
// not come to, and gives it the name of path.
func putInPlace(path string, columns []string) error {
	part, err := os.OpenFile(path+partSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer part.Close()
	written, err := readEarlier(part, columns)
	if err != nil {
		return err
	}
	if written == nil { // not even the headings are whole
		return os.Remove(part.Name())
	}
	for err == nil {
		_, err = written.next()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if err := part.Truncate(written.end); err != nil {
		return err
	}
	if _, err := part.Seek(written.end, io.SeekStart); err != nil {
		return err
	}
	if err := copyRows(part, path, columns, written.rows); err != nil {
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(path+partSuffix, path)
}

// copyRows appends the rows of a file after the first ones.
func copyRows(to io.Writer, path string, columns []string, skip int) error {
	from, err := openEarlier(path, columns)
	if err != nil || from == nil {
		return err
	}
	defer from.close()
	buffered := bufio.NewWriter(to)
	for row := 0; ; row++ {
		cells, err := from.next()
		if errors.Is(err, io.EOF) {
			return buffered.Flush()
		}
		var text []byte
		if err == nil && row >= skip {
			text, err = encodeRow(cells)
		}
		if err == nil {
			_, err = buffered.Write(text)
		}
		if err != nil {
			return err
		}
	}
}
