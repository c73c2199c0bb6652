package privacy

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// parts are the files of a log: the one that is written, and older ones beside
// it, named after the end of each. They are used by one goroutine at a time. The
// log rotates by itself, rather than with a library, because those at hand leave
// a goroutine behind and write on into a file whose disk is full.
type parts struct {
	config AuditConfig
	file   *os.File // nil: to be opened
	size   int64    // of whole lines
	began  time.Time
}

// endForm is how the end of an older part stands in its name. It sorts by time.
const endForm = "20060102T150405.000000000Z"

// open opens the file that is written and goes on after its last whole line.
func (p *parts) open() error {
	file, err := os.OpenFile(p.config.File, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("audit.file: is not a regular file")
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	p.file, p.size, p.began = file, info.Size(), time.Now()
	if p.size == 0 {
		return nil
	}
	p.began = firstAt(file, info.ModTime())
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, p.size-1); err == nil && last[0] != '\n' {
		// A crash cut a line off. What is there is kept, on a line of its own.
		if _, err := file.WriteString("\n"); err != nil {
			return errors.Join(err, p.close())
		}
		p.size++
	}
	return nil
}

// firstAt is the time of the first line, or the given one if it has none.
func firstAt(file *os.File, otherwise time.Time) time.Time {
	line, _ := bufio.NewReader(file).ReadSlice('\n')
	var first struct {
		At time.Time `json:"at"`
	}
	if json.Unmarshal(line, &first) != nil || first.At.IsZero() {
		return otherwise
	}
	return first.At
}

// write appends whole lines, to a new part if it is time for one. On an error
// none of them is in the file, as far as the disk allows.
func (p *parts) write(lines []byte, now time.Time) error {
	if p.file == nil {
		if err := p.open(); err != nil {
			return err
		}
	}
	if p.size > 0 && (p.size+int64(len(lines)) > p.config.MaxBytes || now.Sub(p.began) >= p.config.MaxAge) {
		if err := p.rotate(now); err != nil {
			return err
		}
	}
	if p.size == 0 {
		p.began = now
	}
	if _, err := p.file.Write(lines); err != nil {
		// The file is opened anew next time: it may have been on a disk that went.
		return errors.Join(err, p.file.Truncate(p.size), p.close())
	}
	p.size += int64(len(lines))
	return nil
}

// rotate ends the part that is written and begins the next.
func (p *parts) rotate(now time.Time) error {
	if err := p.close(); err != nil {
		return err
	}
	if err := os.Rename(p.config.File, p.named(now)); err != nil {
		return err
	}
	p.tidy(now)
	return p.open()
}

// named is the name of a part that ends now.
func (p *parts) named(now time.Time) string {
	extension := filepath.Ext(p.config.File)
	return strings.TrimSuffix(p.config.File, extension) + "-" + now.UTC().Format(endForm) + extension
}

// tidy removes the older parts that are too many or too old. What cannot be
// removed is tried again.
func (p *parts) tidy(now time.Time) {
	type part struct {
		path string
		end  time.Time
	}
	var older []part
	extension := filepath.Ext(p.config.File)
	before := filepath.Base(strings.TrimSuffix(p.config.File, extension)) + "-"
	folder := filepath.Dir(p.config.File)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		middle, ours := strings.CutPrefix(entry.Name(), before)
		middle, whole := strings.CutSuffix(middle, extension)
		if end, err := time.Parse(endForm, middle); ours && whole && err == nil {
			older = append(older, part{filepath.Join(folder, entry.Name()), end})
		}
	}
	slices.SortFunc(older, func(a, b part) int { return b.end.Compare(a.end) })
	for i, part := range older {
		if i >= p.config.Keep || now.Sub(part.end) > p.config.KeepFor {
			_ = os.Remove(part.path)
		}
	}
}

func (p *parts) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}
