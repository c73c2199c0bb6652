package providers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/providers/definitions"
	"github.com/enrichd/enrichd/providers/engine"
)

const (
	definitionSuffix = ".yaml"
	exchangesSuffix  = ".exchanges.json"
)

// Library finds definitions: those of the operator's folder first, then the
// built-in ones.
type Library struct {
	folder string // "": built-in ones only
}

// NewLibrary returns the library of a folder; "" is the built-in ones alone.
func NewLibrary(folder string) Library { return Library{folder: folder} }

// missing is why the folder cannot be looked into, nil if it can.
func (l Library) missing() error {
	if l.folder == "" {
		return nil
	}
	_, err := os.ReadDir(l.folder)
	return err
}

// Names lists all definitions: the folder's in the order of the alphabet, then
// the built-in ones that the folder does not replace.
func (l Library) Names() ([]string, error) {
	var names []string
	if l.folder != "" {
		files, err := filepath.Glob(filepath.Join(l.folder, "*"+definitionSuffix))
		if err != nil {
			return nil, fmt.Errorf("folder of definitions: %w", err)
		}
		for _, file := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(file), definitionSuffix))
		}
	}
	for _, name := range definitions.Names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Load loads a definition by its name, or by the path of its file. The error is
// of type [engine.Problems] when the definition is wrong.
func (l Library) Load(name string) (*engine.Definition, error) {
	path, read, err := l.find(name)
	if err != nil {
		return nil, err
	}
	data, err := read(path + definitionSuffix)
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	return engine.Load(path+definitionSuffix, data)
}

// exchanges returns the recorded exchanges beside a definition.
func (l Library) exchanges(name string) (file string, data []byte, err error) {
	path, read, err := l.find(name)
	if err != nil {
		return "", nil, err
	}
	data, err = read(path + exchangesSuffix)
	return path + exchangesSuffix, data, err
}

// find returns the path of a definition without its suffix, and how to read
// what stands there.
func (l Library) find(name string) (path string, read func(string) ([]byte, error), err error) {
	if file, isFile := strings.CutSuffix(name, definitionSuffix); isFile {
		return file, os.ReadFile, nil
	}
	if l.folder != "" {
		path = filepath.Join(l.folder, name)
		if _, err := os.Stat(path + definitionSuffix); !errors.Is(err, fs.ErrNotExist) {
			return path, os.ReadFile, nil
		}
	}
	if !slices.Contains(definitions.Names, name) {
		return "", nil, fmt.Errorf("there is no definition %q; known: %s", name, strings.Join(definitions.Names, ", "))
	}
	return name, definitions.Files.ReadFile, nil
}
