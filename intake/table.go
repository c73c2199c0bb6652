package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// UnreadableError is a file that cannot be read at all.
type UnreadableError struct {
	// Code is "empty", "no_email_column", "no_header", "two_email_columns",
	// "line_ends", "json_list", "not_text" or "utf16_without_mark".
	Code string
	// Message says what to do.
	Message string
}

// Error returns code and message.
func (e *UnreadableError) Error() string { return fmt.Sprintf("intake: %s: %s", e.Code, e.Message) }

// Row is one row of a file.
type Row struct {
	Line  int64 // of the file, from 1
	Email string
	// Refused is why the row cannot be read: "too_large", "unclosed_quote",
	// "too_few_columns", "too_many_columns", "not_json", "no_email"; empty: it can.
	Refused string
	// Cells are as many as the header has. Those of a row that cannot be read are
	// what stands in its line, cut at delimiters alone.
	Cells []string
}

// Table reads rows of leads from CSV or JSON lines. It tells the dialect by the
// first line.
type Table struct {
	lines  *lines
	json   bool
	comma  byte
	column string   // wanted; "" : one of emailColumns
	header []string // of JSON lines: the address alone
	at     int      // index of the e-mail column
}

// emailColumns are names of the e-mail column, without case, spaces, hyphens and
// underscores, the most usual first.
var emailColumns = []string{"email", "emailaddress", "mail", "workemail", "businessemail", "contactemail"}

// NewTable reads the head of a file. column names the e-mail column; empty: a
// usual name. The error is an *UnreadableError, or the reader's.
func NewTable(in io.Reader, column string) (*Table, error) {
	t := &Table{lines: newLines(in), column: strings.TrimSpace(column)}
	for {
		first, err := t.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, &UnreadableError{Code: "empty", Message: "the file has no rows"}
		} else if err != nil {
			return nil, err
		}
		if strings.ContainsFunc(first.text, inNoText) {
			return nil, &UnreadableError{Code: "not_text", Message: fmt.Sprintf(
				"line %d is no text: unpack a packed file, and save a spreadsheet as CSV or JSON lines", first.number)}
		}
		if at := strings.IndexByte(first.text, 0); at >= 0 {
			return nil, &UnreadableError{Code: "utf16_without_mark", Message: fmt.Sprintf(
				"line %d has a zero byte at position %d, as UTF-16 has without a byte order mark: save the file as UTF-8, or with the mark", first.number, at+1)}
		}
		if strings.TrimSpace(first.text) == "" && !first.long {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(first.text), "{") {
			t.json, t.header = true, []string{"email"}
			if t.column != "" {
				t.header[0] = t.column
			}
			t.lines.unread([]physical{first})
			return t, nil
		}
		if opening := strings.TrimSpace(first.text); opening == "[" || strings.HasPrefix(opening, "[{") {
			return nil, &UnreadableError{Code: "json_list", Message: "the file is one JSON list: write one object in each line, without brackets around them"}
		}
		if err := t.readHead(first); err != nil {
			return nil, err
		}
		if err := t.hasRow(); err != nil {
			return nil, err
		}
		return t, nil
	}
}

// hasRow is an error when nothing stands below the head.
func (t *Table) hasRow() error {
	for {
		line, err := t.lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return &UnreadableError{Code: "empty", Message: "the file has a header and no rows"}
		case err != nil:
			return err
		case line.long || strings.TrimSpace(line.text) != "":
			t.lines.unread([]physical{line})
			return nil
		}
	}
}

// inNoText tells whether no text has the character. Zero bytes are told apart:
// they are half of UTF-16.
func inNoText(c rune) bool { return c < ' ' && c != 0 && c != '\t' && c != '\r' && c != '\n' }

// Header is what the columns are called.
func (t *Table) Header() []string { return t.header }

func (t *Table) readHead(first physical) error {
	t.comma = delimiter(first.text)
	head, _, err := t.span(first)
	switch {
	case err != nil:
		return err
	case first.long || head == nil:
		return &UnreadableError{Code: "no_header", Message: "the first line is no header"}
	case strings.Contains(first.text, "\r"):
		return &UnreadableError{Code: "line_ends", Message: "lines end with a carriage return alone: save the file with LF or CRLF"}
	}
	t.header = head
	found := t.addressColumns(head)
	switch {
	case len(found) == 1:
		t.at = found[0]
		return nil
	case len(found) > 1:
		return &UnreadableError{Code: "two_email_columns", Message: "several columns have the name of the e-mail column: name them differently"}
	case slices.ContainsFunc(head, func(cell string) bool { return strings.Contains(cell, "@") }):
		return &UnreadableError{Code: "no_header", Message: "the first line is a row: put a header above it"}
	default:
		return &UnreadableError{Code: "no_email_column", Message: "no column has the name of an e-mail column: name it email, or say which it is"}
	}
}

// addressColumns are the columns with the name that is wanted, or else with the
// most usual one that there is.
func (t *Table) addressColumns(head []string) (found []int) {
	best := len(emailColumns)
	for i, name := range head {
		rank := t.rank(name)
		if rank > best || rank < 0 {
			continue
		}
		if rank < best {
			best, found = rank, nil
		}
		found = append(found, i)
	}
	return found
}

// rank is the place of a name among those of the e-mail column, the best 0; -1:
// it is none.
func (t *Table) rank(name string) int {
	if t.column == "" {
		return slices.Index(emailColumns, plain(name))
	}
	if strings.EqualFold(strings.TrimSpace(name), t.column) {
		return 0
	}
	return -1
}

// Next returns the next row that is not empty. The error is io.EOF at the end,
// or the reader's.
func (t *Table) Next() (Row, error) {
	for {
		line, err := t.lines.next()
		if err != nil {
			return Row{}, err
		}
		switch {
		case line.long:
			return t.refused(line, "too_large"), nil
		case strings.TrimSpace(line.text) == "":
		case t.json:
			return t.object(line), nil
		default:
			return t.record(line)
		}
	}
}

// refused is a row that cannot be read.
func (t *Table) refused(line physical, why string) Row {
	cells := make([]string, len(t.header))
	if t.json {
		cells[0] = line.text
	} else {
		copy(cells, strings.SplitN(line.text, string(t.comma), len(cells)))
	}
	return Row{Line: line.number, Refused: why, Cells: cells}
}

// object reads a line of JSON.
func (t *Table) object(line physical) Row {
	var fields map[string]any
	if json.Unmarshal([]byte(line.text), &fields) != nil {
		return t.refused(line, "not_json")
	}
	if repeatsName(json.NewDecoder(strings.NewReader(line.text))) {
		return t.refused(line, "repeated_name")
	}
	email, best, from := "", len(emailColumns), ""
	for name, value := range fields {
		rank := t.rank(name)
		text, ok := value.(string)
		if !ok || rank < 0 || rank > best || rank == best && name > from {
			continue
		}
		email, best, from = text, rank, name
	}
	if strings.TrimSpace(email) == "" {
		return t.refused(line, "no_email")
	}
	return Row{Line: line.number, Email: email, Cells: []string{email}}
}

// record reads a row of CSV, which goes over several lines where a quoted cell
// does. When that cannot be meant, the first line alone is refused and the
// others are rows again.
func (t *Table) record(first physical) (Row, error) {
	cells, more, err := t.span(first)
	if err != nil {
		return Row{}, err
	}
	row := t.row(first, cells)
	if cells == nil || len(more) > 0 && (row.Refused != "" || t.swallows(row, first)) {
		t.lines.unread(more)
		return t.refused(first, "unclosed_quote"), nil
	}
	return row, nil
}

// row takes the e-mail cell of a record. A ragged row could have it anywhere,
// except that empty cells may be missing or added at its end.
func (t *Table) row(line physical, cells []string) Row {
	for len(cells) > len(t.header) && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	switch {
	case len(cells) > len(t.header):
		return t.refused(line, "too_many_columns")
	case len(cells) <= t.at:
		return t.refused(line, "too_few_columns")
	}
	email := cells[t.at]
	for len(cells) < len(t.header) {
		cells = append(cells, "")
	}
	if strings.TrimSpace(email) == "" {
		return Row{Line: line.number, Refused: "no_email", Cells: cells}
	}
	return Row{Line: line.number, Email: email, Cells: cells}
}

// swallows tells whether a row of several lines has its address over several, or
// is two rows of which the first has an open quote: then the quote is closed by
// another row's.
func (t *Table) swallows(row Row, first physical) bool {
	if strings.Contains(strings.TrimSpace(row.Email), "\n") {
		return true
	}
	before, _ := split(first.text, t.comma)
	return len(before)-1 <= t.at && t.isRow(strings.TrimPrefix(first.text, `"`))
}

// isRow tells whether a line without quotes is a row of its own, with an address
// in its place.
func (t *Table) isRow(line string) bool {
	if len(t.header) == 0 || strings.Contains(line, `"`) {
		return false
	}
	cells, _ := split(line, t.comma)
	return len(cells) == len(t.header) && strings.Contains(cells[t.at], "@")
}

var withoutHyphens = strings.NewReplacer(" ", "", "-", "", "_", "")

// plain is a column's name without what people write differently.
func plain(name string) string {
	return withoutHyphens.Replace(strings.ToLower(strings.TrimSpace(name)))
}
