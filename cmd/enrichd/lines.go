package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// textLine is one line of a file, without its line break.
type textLine struct {
	number  int // from 1
	text    []byte
	tooLong bool // text is only the beginning
}

// lineReader reads lines and can take some back.
type lineReader struct {
	reader *bufio.Reader
	most   int // bytes of a line
	read   int
	back   []textLine
	err    error // why there are no more lines: io.EOF at the end
}

// next returns the next line; there is none once err is set.
func (r *lineReader) next() (textLine, bool) {
	if len(r.back) > 0 {
		line := r.back[0]
		r.back = r.back[1:]
		return line, true
	}
	if r.err != nil {
		return textLine{}, false
	}
	var line textLine
	line.text, line.tooLong, r.err = readLine(r.reader, r.most)
	if r.err != nil && (!errors.Is(r.err, io.EOF) || len(line.text) == 0) {
		return textLine{}, false
	}
	r.read++
	line.number = r.read
	return line, true
}

// unread makes lines the next ones again.
func (r *lineReader) unread(lines []textLine) {
	if len(lines) > 0 {
		r.back = append(lines, r.back...)
	}
}

// readLine reads a line of at most that many bytes and cuts its line break off.
// Of a longer line it returns the beginning. The last line may lack its break:
// then io.EOF comes with it.
func readLine(reader *bufio.Reader, most int) (line []byte, tooLong bool, err error) {
	for {
		part, err := reader.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		}
		if len(line) > most {
			line, tooLong = line[:most], true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
