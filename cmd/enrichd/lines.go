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

// lineReader reads lines.
type lineReader struct {
	reader *bufio.Reader
	most   int // bytes of a line
	read   int
	err    error // why there are no more lines: io.EOF at the end
}

// next returns the next line; there is none once err is set.
func (r *lineReader) next() (textLine, bool) {
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
