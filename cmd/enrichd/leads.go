package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// leadFile reads the leads of a CSV file one after another, so that a file may
// be larger than memory.
type leadFile struct {
	rows   rowReader
	header []string
	count  int // rows read so far
}

// lead is one row.
type lead struct {
	line   int // where it stands in its file, from 1
	cells  []string
	email  string
	damage error // why the row cannot be read, a damagedRow

	// earlier is the row of results that an earlier run wrote for the lead and
	// that stands; nil: it has yet to be asked about.
	earlier []string
}

// addressColumns are the headings that mean an e-mail address, in lower case,
// most usual first.
var addressColumns = []string{"email", "e-mail", "mail", "email address", "e-mail address", "email_address", "work email", "work_email", "contact email"}

// openLeads reads the header: its separator is the most frequent of comma,
// semicolon and tab, and the column of addresses is the one named, or else the
// first with a usual heading. A file without a heading row cannot be read.
func openLeads(reader io.Reader, column string) (*leadFile, error) {
	buffered := bufio.NewReaderSize(reader, 64<<10)
	start, err := buffered.Peek(buffered.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, _ = buffered.Discard(3)
		start = start[3:]
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return nil, errors.New("the text is UTF-16: save it as UTF-8")
	}
	file := &leadFile{rows: rowReader{
		lines:     lineReader{reader: buffered, most: longestLine},
		separator: separatorOf(start),
	}}
	first, err := file.rows.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, err
	case first.damage != nil:
		return nil, fmt.Errorf("the headings cannot be read: %w", first.damage)
	case strings.Contains(strings.Join(first.cells, ""), "\r"):
		return nil, errors.New("lines end with a carriage return alone: save the file with LF or CRLF")
	}
	file.header = first.cells
	if file.rows.address, err = findColumn(file.header, column); err != nil {
		return nil, err
	}
	file.rows.width = len(file.header)
	return file, nil
}

func separatorOf(start []byte) byte {
	line, _, _ := bytes.Cut(bytes.TrimLeft(start, "\r\n"), []byte("\n"))
	best := byte(',')
	for _, separator := range []byte{';', '\t'} {
		if bytes.Count(line, []byte{separator}) > bytes.Count(line, []byte{best}) {
			best = separator
		}
	}
	return best
}

func findColumn(header []string, wanted string) (int, error) {
	headings := make([]string, len(header))
	for i, heading := range header {
		headings[i] = strings.ToLower(strings.TrimSpace(heading))
	}
	candidates := addressColumns
	if wanted != "" {
		candidates = []string{strings.ToLower(strings.TrimSpace(wanted))}
	}
	for _, candidate := range candidates {
		if column := slices.Index(headings, candidate); column >= 0 {
			return column, nil
		}
	}
	if strings.Contains(strings.Join(header, ""), "@") { // a lead, which is nobody else's business
		return 0, errors.New("the first line holds an address where the headings should be")
	}
	return 0, fmt.Errorf("no column of addresses among %.200q: name one with --column", header)
}

// next returns the next row, or io.EOF.
func (f *leadFile) next() (lead, error) {
	row, err := f.rows.next()
	if err != nil {
		return lead{}, err
	}
	f.count++
	return lead{line: row.line, cells: row.cells, email: row.cells[f.rows.address], damage: row.damage}, nil
}
