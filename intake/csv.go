package intake

import (
	"errors"
	"io"
	"strings"
)

// How far a quoted cell goes before its quote counts as one that was never
// closed.
const (
	mostLinesInCell = 100
	mostOfLines     = 256 << 10 // bytes of a row over several lines
)

// span takes the record apart that begins with a line, and returns the further
// lines that it goes over. Nil cells: its last quoted cell has no end, or not
// before another row.
func (t *Table) span(first physical) (cells []string, more []physical, err error) {
	cells, closed := split(first.text, t.comma)
	if closed || first.long {
		return cells, nil, nil
	}
	text := []byte(first.text)
	for !closed {
		next, err := t.lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, more, err
		}
		if err == nil {
			more = append(more, next)
			text = append(append(text, '\n'), next.text...)
		}
		if err != nil || next.long || t.isRow(next.text) || len(more) >= mostLinesInCell || len(text) > mostOfLines {
			return nil, more, nil
		}
		if closesQuote(next.text, t.comma) {
			cells, closed = split(string(text), t.comma)
		}
	}
	return cells, more, nil
}

// closesQuote tells whether a line ends the record whose quoted cell goes on in
// it. Only then is the whole taken apart.
func closesQuote(line string, comma byte) bool {
	if !strings.Contains(line, `"`) {
		return false
	}
	_, closed := split(`"`+line, comma)
	return closed
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
// cell that does not begin with one, and where no delimiter follows. closed is
// false when the last quoted cell has no end.
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

// nextCell returns the first cell and what comes behind its delimiter. Spaces may
// stand behind a closing quote.
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
		behind := strings.TrimLeft(record[i:], " ")
		switch {
		case behind == "":
			return b.String(), "", false, true
		case behind[0] == comma:
			return b.String(), behind[1:], true, true
		case record[i] == '"':
			i++
		}
		b.WriteByte('"')
	}
}
