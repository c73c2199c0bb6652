package cache

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// journal is the file of the erasures that Redis has yet to be told, one tag a
// line, so that a restart does not lose them. The empty journal keeps nothing.
type journal string

// load lists the erasures in the file. A line that was cut off by a crash is
// passed over: whoever asked for that erasure never had an answer.
func (j journal) load() ([]tag, error) {
	if j == "" {
		return nil, nil
	}
	file, err := os.Open(string(j))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cache: erasures: %w", err)
	}
	defer file.Close()
	var tags []tag
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if decoded, err := hex.DecodeString(lines.Text()); err == nil && len(decoded) == len(tag{}) {
			tags = append(tags, tag(decoded))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cache: erasures: %w", err)
	}
	return tags, nil
}

// add notes an erasure so that it survives a crash of the machine.
func (j journal) add(t tag) (err error) {
	if j == "" {
		return nil
	}
	file, err := os.OpenFile(string(j), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cache: erasures: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(hex.EncodeToString(t[:]) + "\n"); err != nil {
		return fmt.Errorf("cache: erasures: %w", err)
	}
	return file.Sync()
}

// clear notes that all erasures are done.
func (j journal) clear() error {
	if j == "" {
		return nil
	}
	if err := os.Truncate(string(j), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cache: erasures: %w", err)
	}
	return nil
}
