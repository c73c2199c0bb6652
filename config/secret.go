package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// mostSecret is the longest file that ${file:PATH} reads, in bytes.
const mostSecret = 64 << 10

// variableName is what ${NAME} may name.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secrets puts into texts what stands for them, and remembers the files that it
// looked at, those that are not there as well.
type secrets struct{ files []string }

// expand replaces ${NAME} by the environment's value and ${file:PATH} by what
// the file holds, without its last line break, so that secrets need not stand in
// the configuration. $${ stands for ${ itself. An error never holds a value.
func (s *secrets) expand(text string) (string, error) {
	var expanded strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			expanded.WriteString(text)
			return expanded.String(), nil
		}
		if strings.HasSuffix(before, "$") {
			expanded.WriteString(before + "{")
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New("${ is not closed; write $${ if it is meant literally")
		}
		value, err := s.lookUp(name)
		if err != nil {
			return "", err
		}
		expanded.WriteString(before + value)
		text = rest
	}
}

func (s *secrets) lookUp(name string) (value string, err error) {
	if path, isFile := strings.CutPrefix(name, "file:"); isFile {
		s.files = append(s.files, path)
		if value, err = readSecret(path); err != nil {
			return "", err
		}
	} else {
		if !variableName.MatchString(name) {
			return "", errors.New("what stands in ${…} is neither the name of an environment variable nor file:PATH; write $${ if it is meant literally")
		}
		set := false
		if value, set = os.LookupEnv(name); !set {
			return "", fmt.Errorf("the environment has no variable %s", name)
		}
	}
	if value == "" { // as good as left out, and a store or a password that is left out is another configuration
		return "", fmt.Errorf("what ${%s} stands for is empty; leave the field out if that is meant", name)
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return "", fmt.Errorf("what ${%s} stands for has several lines or NUL bytes", name)
	}
	return value, nil
}

// readSecret reads a small regular file. What else has a path could block or
// have no end.
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	secret, err := io.ReadAll(io.LimitReader(file, mostSecret+1))
	switch {
	case err != nil:
		return "", err
	case len(secret) > mostSecret:
		return "", fmt.Errorf("%s is longer than %d bytes", path, mostSecret)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(secret), "\n"), "\r"), nil
}
