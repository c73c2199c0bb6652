package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// resultColumns are the columns that a result adds behind the lead's own: the
// contract's attributes between what happened and why.
func resultColumns() []string {
	columns := []string{"enrichd.outcome", "enrichd.email", "enrichd.error"}
	for _, spec := range enrich.Attributes() {
		columns = append(columns, string(spec.Attribute))
	}
	return append(columns, "enrichd.providers", "enrichd.cost_micros")
}

// resultCells are the cells for resultColumns.
func resultCells(r result) []string {
	if r.err != nil {
		cells := make([]string, len(resultColumns()))
		cells[0], cells[2] = "failed", explain(r.err)
		return cells
	}
	cells := []string{outcomeWord(r.response.GetOutcome()), r.response.GetEmail(), ""}
	for _, spec := range enrich.Attributes() {
		cells = append(cells, attributeCell(r.response, spec))
	}
	return append(cells, strings.Join(providersOf(r.response), " "), strconv.FormatInt(r.response.GetCostMicros(), 10))
}

// attributeCell is a value as text; lists are separated by semicolons.
func attributeCell(response *enrichv1.EnrichResponse, spec enrich.Spec) string {
	record := response.GetPerson().ProtoReflect()
	if spec.Attribute.Kind() == enrich.Company {
		record = response.GetCompany().ProtoReflect()
	}
	if !record.IsValid() || !record.Has(spec.Field) {
		return ""
	}
	value := record.Get(spec.Field)
	switch spec.Form {
	case enrich.List:
		var texts []string
		for i := range value.List().Len() {
			texts = append(texts, value.List().Get(i).String())
		}
		return strings.Join(texts, ";")
	case enrich.Word:
		return enrich.WordOf(spec.Field.Enum().Values().ByNumber(protoreflect.EnumNumber(value.Enum())))
	default:
		return value.String()
	}
}

func outcomeWord(outcome enrichv1.Outcome) string {
	return strings.ToLower(strings.TrimPrefix(outcome.String(), "OUTCOME_"))
}

// providersOf lists who supplied the facts of an answer.
func providersOf(response *enrichv1.EnrichResponse) []string {
	var providers []string
	for _, provenance := range response.GetProvenance() {
		if !slices.Contains(providers, provenance.GetProvider()) {
			providers = append(providers, provenance.GetProvider())
		}
	}
	slices.Sort(providers)
	return providers
}

// harmless keeps a spreadsheet from running a vendor's text as a formula: such
// a cell gets an apostrophe in front. Numbers and phones stay as they are.
func harmless(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	rest := strings.TrimLeft(cell, "+-")
	if len(cell)-len(rest) == 1 && strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsDigit(r) }) < 0 {
		return cell
	}
	return "'" + cell
}

// resultFile appends results to a CSV file. Every row is flushed, so that an
// interrupted run can go on where it stopped.
type resultFile struct {
	file io.WriteCloser
	csv  *csv.Writer
}

// openResults opens the file for results of leads with the given header, or
// standard output for "-". It returns how many rows an earlier run wrote; a
// last row that was cut off is dropped.
func openResults(path string, stdout io.Writer, header []string) (*resultFile, int, error) {
	columns := append(slices.Clone(header), resultColumns()...)
	if path == "-" {
		results := &resultFile{file: nopCloser{stdout}, csv: csv.NewWriter(stdout)}
		return results, 0, results.write(columns)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	rows, end, err := readResults(file, columns)
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if err := errors.Join(file.Truncate(end), seek(file, end)); err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	results := &resultFile{file: file, csv: csv.NewWriter(file)}
	if end == 0 {
		err = results.write(columns)
	}
	return results, rows, err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func seek(file *os.File, offset int64) error {
	_, err := file.Seek(offset, io.SeekStart)
	return err
}

// readResults counts the whole rows of an earlier run and says where they end.
func readResults(file *os.File, columns []string) (rows int, end int64, err error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return 0, 0, err
	}
	if err := seek(file, 0); err != nil {
		return 0, 0, err
	}
	reader := csv.NewReader(file)
	header, err := reader.Read()
	if err != nil || !slices.Equal(header, columns) {
		return 0, 0, fmt.Errorf("%s is not a result of this file of leads: name another one with --out", file.Name())
	}
	end = reader.InputOffset()
	for {
		_, err := reader.Read()
		if err != nil {
			break // the end, or a row that was cut off
		}
		if !endsLine(file, reader.InputOffset()) {
			break
		}
		rows, end = rows+1, reader.InputOffset()
	}
	return rows, end, nil
}

// endsLine tells whether the byte before offset is a line break.
func endsLine(file *os.File, offset int64) bool {
	var last [1]byte
	_, err := file.ReadAt(last[:], offset-1)
	return err == nil && last[0] == '\n'
}

func (f *resultFile) write(cells []string) error {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = harmless(cell)
	}
	if err := f.csv.Write(safe); err != nil {
		return err
	}
	f.csv.Flush()
	return f.csv.Error()
}

func (f *resultFile) close() error { return f.file.Close() }
