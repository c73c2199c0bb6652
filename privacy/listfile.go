package privacy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// listFile is the list's copy on disk: every change, one line each, never
// rewritten. It is used by one goroutine at a time.
type listFile struct {
	file  *os.File
	tags  *Tagger
	whole int64 // bytes of whole lines
}

// openListFile reads the changes in a file, which is made if there is none, and
// cuts off what a crash left of a last line. Its folder is not made: one that is
// missing may be a disk that is not mounted, and a list begun anew suppresses
// nobody.
func openListFile(path string, tags *Tagger, each func(change)) (opened *listFile, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: make it, for this user alone, or mount the disk that the list is on", filepath.Dir(path))
	} else if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	whole, err := tags.readAll(file, each)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &listFile{file: file, tags: tags, whole: whole}
	return f, errors.Join(f.cut(), syncFolder(filepath.Dir(path)))
}

// cut removes what follows the whole lines.
func (f *listFile) cut() error {
	info, err := f.file.Stat()
	if err == nil && info.Size() > f.whole {
		err = f.file.Truncate(f.whole)
	}
	return err
}

// add writes changes so that they survive a crash of the machine. On an error
// none of them is in the file, or all are to be written again.
func (f *listFile) add(changes []change) error {
	var text strings.Builder
	for _, c := range changes {
		text.WriteString(f.tags.write(c) + "\n")
	}
	if err := f.cut(); err != nil { // an earlier failure may have left a part
		return err
	}
	if _, err := f.file.WriteString(text.String()); err != nil {
		return errors.Join(err, f.cut())
	}
	if err := f.file.Sync(); err != nil {
		return err
	}
	f.whole += int64(text.Len())
	return nil
}

func (f *listFile) close() error { return f.file.Close() }

// syncFolder makes a new file's name survive a crash of the machine.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
