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
	// Code is "empty", "no_email_column", "no_header" or "two_email_columns".
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
}

// Table reads rows of leads from CSV or JSON lines. It tells the dialect by the
// first line.
type Table struct {
	lines  *lines
	json   bool
	comma  byte
	column string // wanted; "" : one of emailColumns
	at     int    // index of the e-mail column
	width  int
}

// emailColumns are names of the e-mail column, without case, spaces, hyphens and
// underscores.
var emailColumns = []string{"email", "emailaddress", "mail", "workemail", "businessemail", "contactemail"}

// mostLinesInCell is how far a quoted cell goes before its quote counts as one
// that was never closed.
const mostLinesInCell = 100

// NewTable reads the head of a file. column names the e-mail column; empty: a
// usual name. The error is an *UnreadableError, or the reader's.
func NewTable(in io.Reader, column string) (*Table, error) {
	t := &Table{lines: newLines(in), column: column}
	for {
		first, err := t.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, &UnreadableError{Code: "empty", Message: "the file has no rows"}
		} else if err != nil {
			return nil, err
		}
		if strings.TrimSpace(first.text) == "" && !first.long {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(first.text), "{") {
			t.json = true
			t.lines.unread([]physical{first})
			return t, nil
		}
		return t, t.readHead(first)
	}
}

func (t *Table) readHead(first physical) error {
	t.comma = delimiter(first.text)
	head, closed := split(first.text, t.comma)
	if first.long || !closed {
		return &UnreadableError{Code: "no_header", Message: "the first line is no header"}
	}
	var found []int
	for i, name := range head {
		if t.column != "" && strings.EqualFold(strings.TrimSpace(name), t.column) || t.column == "" && slices.Contains(emailColumns, plain(name)) {
			found = append(found, i)
		}
	}
	t.width = len(head)
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
			return Row{Line: line.number, Refused: "too_large"}, nil
		case strings.TrimSpace(line.text) == "":
		case t.json:
			return t.object(line), nil
		default:
			return t.record(line)
		}
	}
}

// object reads a line of JSON.
func (t *Table) object(line physical) Row {
	var fields map[string]any
	if json.Unmarshal([]byte(line.text), &fields) != nil {
		return Row{Line: line.number, Refused: "not_json"}
	}
	for name, value := range fields {
		if text, ok := value.(string); ok && (name == t.column || t.column == "" && slices.Contains(emailColumns, plain(name))) {
			return Row{Line: line.number, Email: text}
		}
	}
	return Row{Line: line.number, Refused: "no_email"}
}

// record reads a row of CSV, which goes over several lines where a quoted cell
// does. When the quote is never closed, or is closed by another row's so that
// the cells do not fit, the first line alone is refused and the others are rows
// again.
func (t *Table) record(first physical) (Row, error) {
	text := first.text
	var more []physical
	cells, closed := split(text, t.comma)
	for !closed {
		next, err := t.lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return Row{}, err
		}
		if err == nil {
			more = append(more, next)
			text += "\n" + next.text
		}
		if err != nil || next.long || len(more) >= mostLinesInCell || len(text) > mostOfRow {
			return t.unclosed(first, more), nil
		}
		if strings.Contains(next.text, `"`) {
			cells, closed = split(text, t.comma)
		}
	}
	row := t.row(first.number, cells)
	if row.Refused != "" && len(more) > 0 {
		return t.unclosed(first, more), nil
	}
	return row, nil
}

func (t *Table) unclosed(first physical, more []physical) Row {
	t.lines.unread(more)
	return Row{Line: first.number, Refused: "unclosed_quote"}
}

// row takes the e-mail cell of a record. A ragged row could have it anywhere,
// except that empty cells may be missing or added at its end.
func (t *Table) row(number int64, cells []string) Row {
	for len(cells) > t.width && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	switch {
	case len(cells) > t.width:
		return Row{Line: number, Refused: "too_many_columns"}
	case len(cells) <= t.at:
		return Row{Line: number, Refused: "too_few_columns"}
	case strings.TrimSpace(cells[t.at]) == "":
		return Row{Line: number, Refused: "no_email"}
	}
	return Row{Line: number, Email: cells[t.at]}
}

// delimiter is what separates the cells of a header: the one of the usual ones
// that occurs most.
func delimiter(head string) byte {
	best, most := byte(','), 0
	for _, candidate := range []byte{',', ';', '\t', '|'} {
		if cells, _ := split(head, candidate); len(cells) > most {
			best, most = candidate, len(cells)
		}
	}
	return best
}

// split takes a record apart (RFC 4180). A quote is a character like others in a
// cell that does not begin with one, and where it is not before a delimiter.
// closed is false when the last quoted cell has no end.
func split(record string, comma byte) (cells []string, closed bool) {
	for {
		cell, rest, more, closed := nextCell(record, comma)
		cells = append(cells, cell)
		if !closed {
			return cells, false
		}
		if !more {
			return cells, true
		}
		record = rest
	}
}

// nextCell returns the first cell and what comes behind its delimiter.
func nextCell(record string, comma byte) (cell, rest string, more, closed bool) {
	if !strings.HasPrefix(record, `"`) {
		cell, rest, more = strings.Cut(record, string(comma))
		return cell, rest, more, true
	}
	var b strings.Builder
	for i := 1; ; {
		end := strings.IndexByte(record[i:], '"')
		if end < 0 {
			return "", "", false, false
		}
		b.WriteString(record[i : i+end])
		i += end + 1
		switch {
		case i == len(record):
			return b.String(), "", false, true
		case record[i] == comma:
			return b.String(), record[i+1:], true, true
		case record[i] == '"':
			i++
		}
		b.WriteByte('"')
	}
}

// plain is a column's name without what people write differently.
func plain(name string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(strings.TrimSpace(name)))
}
