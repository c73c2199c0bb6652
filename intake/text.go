package intake

import (
	"bufio"
	"errors"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// mostOfRow is the most bytes of one row. A longer one is refused and passed
// over, so that memory stays bounded.
const mostOfRow = 1 << 20

// lines reads physical lines of a text in UTF-8 or, told by its byte order mark,
// UTF-16.
type lines struct {
	in *bufio.Reader
	// number of the line that was read last, from 1.
	number int64
	back   []physical // lines to be read again, last first
}

// physical is one line without its end.
type physical struct {
	text   string
	number int64
	long   bool // more than mostOfRow bytes; text is empty
}

func newLines(in io.Reader) *lines {
	// BOMOverride reads what the mark says and drops it; without one, UTF-8 with
	// what is not replaced.
	decoder := unicode.BOMOverride(unicode.UTF8.NewDecoder())
	return &lines{in: bufio.NewReaderSize(transform.NewReader(in, decoder), 64<<10)}
}

// next reads a line. The error is io.EOF at the end.
func (l *lines) next() (physical, error) {
	if last := len(l.back) - 1; last >= 0 {
		line := l.back[last]
		l.back = l.back[:last]
		return line, nil
	}
	var text []byte
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if !long {
			text = append(text, part...)
			if len(text) > mostOfRow {
				long, text = true, nil
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(part) == 0 && len(text) == 0 && !long:
			return physical{}, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return physical{}, err
		}
		l.number++
		return physical{text: trimEnd(string(text)), number: l.number, long: long}, nil
	}
}

// unread gives lines back, to be read again in their order.
func (l *lines) unread(again []physical) {
	for i := len(again) - 1; i >= 0; i-- {
		l.back = append(l.back, again[i])
	}
}

func trimEnd(text string) string {
	for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	return text
}
