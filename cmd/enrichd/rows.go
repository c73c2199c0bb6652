package main

import (
	"bytes"
	"fmt"
	"strings"
)

// The bounds of a row; longer ones are damaged.
const (
	longestLine  = 1 << 20   // bytes of a row in one line
	longestLines = 256 << 10 // bytes of a row over several lines
	mostLines    = 256       // of a row
	longestShown = 1000      // bytes that are kept of a line that is too long
)

// row is one row of a CSV file, as many cells wide as the header.
type row struct {
	line   int // where it begins, from 1
	cells  []string
	damage error // a damagedRow
}

// damagedRow says why a row cannot be told from its neighbours, or its cells
// from each other. Guessing could lose leads, or buy facts about the wrong one.
type damagedRow struct {
	line int
	why  string
}

// Error begins with damagedWord.
func (d damagedRow) Error() string { return fmt.Sprintf("%s: line %d: %s", damagedWord, d.line, d.why) }

const damagedWord = "damaged_row"

// rowReader takes a CSV file apart. A cell in quotes may span lines as RFC 4180
// has it, but a stray quote damages its own line only; encoding/csv would let it
// swallow the rows behind it.
type rowReader struct {
	lines     lineReader
	separator byte
	width     int // of the header; 0 until it is read
	address   int // the column of addresses
}

// next returns the next row, or io.EOF. Empty lines are none. A damaged row
// ends with its first line.
func (r *rowReader) next() (row, error) {
	first, ok := r.lines.next()
	for ok && len(bytes.TrimSpace(first.text)) == 0 {
		first, ok = r.lines.next()
	}
	if !ok {
		return row{}, r.lines.err
	}
	cells, end := splitCells(string(first.text), r.separator)
	var further []textLine
	if end == insideQuotes && !first.tooLong {
		cells, end, further = r.spanLines(first)
	}
	for r.width > 0 && len(cells) > r.width && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1] // as spreadsheets write them
	}
	if why := r.damage(first, further, cells, end); why != "" {
		r.lines.unread(further)
		return row{line: first.number, cells: r.rawCells(first), damage: damagedRow{first.number, why}}, nil
	}
	for len(cells) < r.width {
		cells = append(cells, "")
	}
	return row{line: first.number, cells: cells}, nil
}

// spanLines adds lines to a row until its quotes are closed.
func (r *rowReader) spanLines(first textLine) (cells []string, end rowEnd, further []textLine) {
	text := bytes.Clone(first.text)
	for end = insideQuotes; end == insideQuotes && len(further) < mostLines && len(text) < longestLines; {
		line, ok := r.lines.next()
		if !ok {
			break
		}
		further = append(further, line)
		text = append(append(text, '\n'), line.text...)
		if bytes.IndexByte(line.text, '"') >= 0 {
			cells, end = splitCells(string(text), r.separator)
		}
	}
	return cells, end, further
}

// damage says what is wrong with a row that was read from a first line and
// further ones; empty when nothing is.
func (r *rowReader) damage(first textLine, further []textLine, cells []string, end rowEnd) string {
	switch {
	case first.tooLong:
		return fmt.Sprintf("it is longer than %d bytes", longestLine)
	case end == insideQuotes:
		return "a quote is not closed"
	case end == behindQuotes:
		return "text follows a closing quote"
	case bytes.IndexByte(first.text, 0) >= 0:
		return "it holds NUL bytes"
	case r.width == 0: // the header
		return ""
	case len(cells) > r.width:
		return fmt.Sprintf("it has %d cells under %d headings", len(cells), r.width)
	case len(further) == 0:
		return ""
	case len(cells) < r.width, strings.Contains(strings.TrimSpace(cells[r.address]), "\n"):
		return "a quote is not closed in its line, and the rows behind it would be taken for a cell"
	}
	swallowed := further[:len(further)-1]
	if before, _ := splitCells(string(first.text), r.separator); len(before)-1 <= r.address {
		swallowed = append([]textLine{{first.number, bytes.TrimPrefix(first.text, []byte(`"`)), false}}, swallowed...)
	}
	for _, line := range swallowed {
		if bytes.IndexByte(line.text, '"') >= 0 {
			continue
		}
		if inner, _ := splitCells(string(line.text), r.separator); len(inner) == r.width && strings.Contains(inner[r.address], "@") {
			return fmt.Sprintf("a quote is not closed in its line, and line %d looks like a row of its own", line.number)
		}
	}
	return ""
}

// rawCells are what stands in a damaged row, cut at separators alone, so that
// the results still show it. The last cell holds all the rest.
func (r *rowReader) rawCells(line textLine) []string {
	text := string(line.text)
	if line.tooLong {
		text = strings.ToValidUTF8(text[:longestShown], "") + "…"
	}
	cells := make([]string, max(r.width, 1))
	copy(cells, strings.SplitN(text, string(r.separator), len(cells)))
	return cells
}

// rowEnd says where the text of a row ended.
type rowEnd int

const (
	betweenCells rowEnd = iota // as it should
	insideQuotes               // the row may go on in the next line
	behindQuotes               // something else than a separator stands there
)

// splitCells takes a row apart. Quotes count where a cell begins with one; in
// it two stand for one. In the middle of another cell they are text.
func splitCells(text string, separator byte) (cells []string, end rowEnd) {
	for {
		cell, rest := "", text
		if strings.HasPrefix(text, `"`) {
			if cell, rest, end = quotedCell(text[1:]); end != betweenCells {
				return append(cells, cell), end
			}
			rest = strings.TrimLeft(rest, " ")
			if rest != "" && rest[0] != separator {
				return append(cells, cell), behindQuotes
			}
		} else if at := strings.IndexByte(text, separator); at >= 0 {
			cell, rest = text[:at], text[at:]
		} else {
			cell, rest = text, ""
		}
		cells = append(cells, cell)
		if rest == "" {
			return cells, betweenCells
		}
		text = rest[1:]
	}
}

// quotedCell reads up to the closing quote.
func quotedCell(text string) (cell, rest string, end rowEnd) {
	at := 0
	for {
		next := strings.IndexByte(text[at:], '"')
		if next < 0 {
			return text, "", insideQuotes
		}
		if at += next; !strings.HasPrefix(text[at+1:], `"`) {
			return strings.ReplaceAll(text[:at], `""`, `"`), text[at+1:], betweenCells
		}
		at += 2
	}
}
