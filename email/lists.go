package email

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"os"
	"strings"
)

//go:embed lists
var builtin embed.FS

// set is one loaded list.
type set map[string]struct{}

func (s set) has(entry string) bool {
	_, ok := s[entry]
	return ok
}

// lists holds what the normalizer looks up beside the address itself.
type lists struct {
	free, disposable, role set
}

// loadLists reads the built-in and the configured lists and reports every bad
// line of every file.
func loadLists(c Config) (lists, error) {
	free, err1 := load(c.Free, "lists/free.txt", domainEntry)
	disposable, err2 := load(c.Disposable, "lists/disposable.txt", domainEntry)
	role, err3 := load(c.Role, "lists/role.txt", roleEntry)
	return lists{free, disposable, role}, errors.Join(err1, err2, err3)
}

func load(l List, name string, parse func(string) (string, bool)) (set, error) {
	s := set{}
	var problems []error
	read := func(name, text string) {
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for n := 1; lines.Scan(); n++ {
			line, _, _ := strings.Cut(lines.Text(), "#")
			if line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff")); line == "" {
				continue
			}
			entry, ok := parse(line)
			if !ok {
				problems = append(problems, fmt.Errorf("%s:%d: not an entry for this list", name, n))
				continue
			}
			s[entry] = struct{}{}
		}
	}
	if !l.OnlyFiles {
		text, err := builtin.ReadFile(name)
		if err != nil {
			return nil, err
		}
		read(name, string(text))
	}
	for _, path := range l.Files {
		text, err := os.ReadFile(path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		read(path, string(text))
	}
	for _, e := range l.Except {
		entry, ok := parse(strings.TrimSpace(e))
		if !ok {
			problems = append(problems, fmt.Errorf("except: %q is not an entry for this list", e))
			continue
		}
		delete(s, entry)
	}
	return s, errors.Join(problems...)
}

// domainEntry reads a domain of at least two labels, as A-labels.
func domainEntry(line string) (string, bool) {
	ascii, err := toASCII(line)
	if err != nil || !strings.Contains(ascii, ".") {
		return "", false
	}
	return ascii, true
}

// roleEntry reads a local part without tag.
func roleEntry(line string) (string, bool) {
	entry := strings.ToLower(line)
	return entry, !strings.ContainsAny(entry, " \t@+\"")
}
