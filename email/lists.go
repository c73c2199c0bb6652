package email

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"strings"
)

//go:embed lists
var builtin embed.FS

// set is a list that is only asked whether it has an entry.
type set map[string]struct{}

func setOf(entries ...string) set {
	s := set{}
	for _, e := range entries {
		s[e] = struct{}{}
	}
	return s
}

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
	free, err1 := load("free", c.Free, domainEntry)
	disposable, err2 := load("disposable", c.Disposable, domainEntry)
	role, err3 := load("role", c.Role, roleEntry)
	return lists{free, disposable, role}, errors.Join(err1, err2, err3)
}

// load reads the list of that name. Parse returns an entry in the form in which
// it is looked up.
func load(name string, l List, parse func(string) (string, bool)) (set, error) {
	entries := set{}
	var problems []error
	read := func(path string, text []byte, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s list: %w", name, err))
			return
		}
		line := 0
		for raw := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
			line++
			raw, _, _ = strings.Cut(raw, "#")
			if raw = strings.TrimSpace(raw); raw == "" {
				continue
			}
			entry, ok := parse(raw)
			if !ok {
				problems = append(problems, fmt.Errorf("%s:%d: not an entry of the %s list", path, line, name))
				continue
			}
			entries[entry] = struct{}{}
		}
	}
	if !l.OnlyFiles {
		path := "lists/" + name + ".txt"
		text, err := builtin.ReadFile(path)
		read(path, text, err)
	}
	for _, path := range l.Files {
		text, err := os.ReadFile(path)
		read(path, text, err)
	}
	for i, raw := range l.Except {
		entry, ok := parse(strings.TrimSpace(raw))
		if !ok {
			problems = append(problems, fmt.Errorf("%s.except[%d]: not an entry of the list", name, i))
			continue
		}
		delete(entries, entry)
	}
	return entries, errors.Join(problems...)
}

// domainEntry reads a domain of at least two labels, as A-labels.
func domainEntry(line string) (string, bool) {
	ascii, err := toASCII(line)
	if err != nil || !strings.Contains(ascii, ".") {
		return "", false
	}
	return ascii, true
}

// roleEntry reads a local part without tag, in its normalized form.
func roleEntry(line string) (string, bool) {
	if badAtom(line) >= 0 || strings.Contains(line, "+") {
		return "", false
	}
	if isASCII(line) {
		return lowerASCII(line), true
	}
	local, _, problem := unicodeLocal(line)
	return local, problem == ""
}
