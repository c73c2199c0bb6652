package privacy

import (
	"bufio"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A change of the list is one line of the file and one entry in Redis:
//
//   - tag of 32 digits, space, Unix microseconds, space, seal of 16 digits
//
// or the same with a minus sign when the subject was taken off. The newest change
// of a tag counts, so changes may be read in any order and more than once, and
// two copies of the list join by joining their changes. The seal finds damage,
// foreign lines, and lines of another pepper, under which nobody would be found
// to be suppressed.
type change struct {
	tag   Tag
	stamp stamp
}

// stamp is when a tag was put on the list, in Unix microseconds, or minus that
// when it was taken off. The zero stamp is that of a tag never heard of.
type stamp int64

func (s stamp) suppressed() bool { return s > 0 }

func (s stamp) at() int64 { return max(int64(s), -int64(s)) }

// beats tells whether s counts rather than t. Of two changes in the same
// microsecond the addition counts.
func (s stamp) beats(t stamp) bool { return s.at() > t.at() || s.at() == t.at() && s > t }

const (
	sealDigits = 16
	// longestChange is more than any line of ours takes.
	longestChange = 128
)

var errChange = errors.New("is damaged, not ours, or was written under another pepper")

// write returns the line of a change, without a line break.
func (t *Tagger) write(c change) string {
	sign := "+"
	if !c.stamp.suppressed() {
		sign = "-"
	}
	text := sign + c.tag.String() + " " + strconv.FormatInt(c.stamp.at(), 10)
	return text + " " + t.sealOf(text)
}

func (t *Tagger) sealOf(text string) string {
	seal := t.seal(text)
	return hex.EncodeToString(seal[:])[:sealDigits]
}

// read reads the line of a change.
func (t *Tagger) read(line string) (change, error) {
	digits := 2 * len(Tag{})
	if len(line) < 1+digits+2+1+sealDigits || len(line) > longestChange {
		return change{}, errChange
	}
	text, seal := line[:len(line)-sealDigits-1], line[len(line)-sealDigits:]
	if !hmac.Equal([]byte(seal), []byte(t.sealOf(text))) {
		return change{}, errChange
	}
	raw, err := hex.DecodeString(text[1 : 1+digits])
	at, atErr := strconv.ParseInt(text[1+digits+1:], 10, 64)
	c := change{tag: Tag(raw), stamp: stamp(at)}
	if text[0] == '-' {
		c.stamp = -c.stamp
	}
	if err != nil || atErr != nil || at <= 0 || t.write(c) != line {
		return change{}, errChange
	}
	return c, nil
}

// readAll reads the changes of a file and returns how many bytes of it are
// whole lines. A last line without its line break was cut off by a crash, and
// whoever asked for it never had an answer: it is left out. Every other line
// that cannot be read is an error.
func (t *Tagger) readAll(from io.Reader, each func(change)) (whole int64, err error) {
	lines := bufio.NewReaderSize(from, 64<<10)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return whole, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return whole, err
		}
		read, err := t.read(string(line[:len(line)-1]))
		if err != nil {
			return whole, fmt.Errorf("line %d %w", number, err)
		}
		each(read)
		whole += int64(len(line))
	}
}
