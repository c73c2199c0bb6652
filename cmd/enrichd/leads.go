package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/enrichd/enrichd/intake"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// leadFile reads the leads of a file one after another, so that a file may be
// larger than memory.
type leadFile struct {
	table  *intake.Table
	header []string
	count  int // rows read so far
}

// lead is one row.
type lead struct {
	line   int64 // where it stands in its file, from 1
	cells  []string
	email  string
	damage error // why the row cannot be read, a damagedRow

	// earlier is the row of results that an earlier run wrote for the lead and
	// that stands; nil: it has yet to be asked about.
	earlier []string
	// row is what became of the row in an import; nil: it was not handed in.
	row *enrichv1.ImportRow
}

// damagedRow says why no address can be told from a row. Guessing could lose
// leads, or buy facts about the wrong one.
type damagedRow struct {
	line int64
	why  string // a word of intake.Row
}

// Error begins with damagedWord.
func (d damagedRow) Error() string {
	return fmt.Sprintf("%s: line %d: %s", damagedWord, d.line, strings.ReplaceAll(d.why, "_", " "))
}

const damagedWord = "damaged_row"

// openLeads reads the head of a file.
func openLeads(reader io.Reader, column string) (*leadFile, error) {
	table, err := intake.NewTable(reader, column)
	var unreadable *intake.UnreadableError
	if errors.As(err, &unreadable) {
		switch {
		case unreadable.Code == "no_email_column" && column != "":
			return nil, errors.New("no column has the heading that --column names")
		case unreadable.Code == "no_email_column":
			return nil, errors.New("no column has the usual name of one with addresses: name it with --column")
		}
		return nil, errors.New(unreadable.Message)
	} else if err != nil {
		return nil, err
	}
	return &leadFile{table: table, header: table.Header()}, nil
}

// next returns the next row, or io.EOF.
func (f *leadFile) next() (lead, error) {
	row, err := f.table.Next()
	if err != nil {
		return lead{}, err
	}
	f.count++
	next := lead{line: row.Line, cells: row.Cells, email: row.Email}
	if row.Refused != "" {
		next.damage = damagedRow{row.Line, row.Refused}
	}
	return next, nil
}
