package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
)

// earlierFile reads the rows of results that an earlier run wrote. A nil
// earlierFile has none.
type earlierFile struct {
	file   *os.File
	csv    *csv.Reader
	header int64 // bytes
	size   int64
	rows   int   // whole rows read so far
	end    int64 // where the last of them ends
}

// openEarlier opens a file of results; nil when there is none or it is empty.
func openEarlier(path string, columns []string) (*earlierFile, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	earlier, err := readEarlier(file, columns)
	if earlier == nil {
		return nil, errors.Join(err, file.Close())
	}
	return earlier, nil
}

// readEarlier checks that a file begins with the columns; nil when it is empty
// or was cut off in them.
func readEarlier(file *os.File, columns []string) (*earlierFile, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	header, err := encodeRow(columns)
	if err != nil {
		return nil, err
	}
	begins := make([]byte, min(int64(len(header)), info.Size()))
	if _, err := io.ReadFull(file, begins); err != nil {
		return nil, err
	}
	switch {
	case !bytes.HasPrefix(header, begins):
		return nil, fmt.Errorf("%s does not hold results of this file of leads: name another file with --out", file.Name())
	case len(begins) < len(header):
		return nil, nil
	}
	earlier := &earlierFile{file: file, csv: csv.NewReader(file), header: int64(len(header)), size: info.Size(), end: int64(len(header))}
	earlier.csv.FieldsPerRecord = len(columns)
	return earlier, nil
}

// next returns the next row, or io.EOF. A last row that was cut off is none.
func (f *earlierFile) next() ([]string, error) {
	if f == nil {
		return nil, io.EOF
	}
	cells, err := f.csv.Read()
	end := f.header + f.csv.InputOffset()
	switch {
	case errors.Is(err, io.EOF), end >= f.size && (err != nil || !f.endsLine()):
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("row %d of %s cannot be read: name another file with --out", f.rows+1, f.file.Name())
	}
	f.rows, f.end = f.rows+1, end
	return cells, nil
}

// endsLine tells whether the last byte is a line break.
func (f *earlierFile) endsLine() bool {
	var last [1]byte
	_, err := f.file.ReadAt(last[:], f.size-1)
	return err == nil && last[0] == '\n'
}

func (f *earlierFile) close() error {
	if f == nil {
		return nil
	}
	return f.file.Close()
}
