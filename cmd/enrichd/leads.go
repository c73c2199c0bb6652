package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// leadFile reads the leads of a CSV file one after another, so that a file may
// be larger than memory.
type leadFile struct {
	csv    *csv.Reader
	header []string
	column int // of the address
	row    int // rows read so far
}

// lead is one row.
type lead struct {
	row   int // counted from 1, without the header
	cells []string
	email string
}

// addressColumns are the headings that mean an e-mail address, in lower case,
// most usual first.
var addressColumns = []string{"email", "e-mail", "mail", "email address", "e-mail address", "email_address", "work email", "work_email", "contact email"}

// openLeads reads the header: its separator is the most frequent of comma,
// semicolon and tab, and the column of addresses is the one named, or else the
// first with a usual heading. A file without a heading row cannot be read.
func openLeads(reader io.Reader, column string) (*leadFile, error) {
	buffered := bufio.NewReader(reader)
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3)
	}
	start, err := buffered.Peek(buffered.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	file := &leadFile{csv: csv.NewReader(buffered)}
	file.csv.Comma = separatorOf(start)
	file.csv.LazyQuotes = true
	file.csv.FieldsPerRecord = -1
	if file.header, err = file.csv.Read(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		return nil, fmt.Errorf("the file is not CSV: %w", err)
	}
	if file.column, err = findColumn(file.header, column); err != nil {
		return nil, err
	}
	return file, nil
}

func separatorOf(start []byte) rune {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	best := ','
	for _, separator := range []rune{';', '\t'} {
		if bytes.Count(line, []byte(string(separator))) > bytes.Count(line, []byte(string(best))) {
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
	return 0, fmt.Errorf("no column of addresses among %q: name one with --column", header)
}

// next returns the next row, or io.EOF.
func (f *leadFile) next() (lead, error) {
	cells, err := f.csv.Read()
	if err != nil {
		return lead{}, err
	}
	f.row++
	next := lead{row: f.row, cells: cells}
	if f.column < len(cells) {
		next.email = cells[f.column]
	}
	return next, nil
}
