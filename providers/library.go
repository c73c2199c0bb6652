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
	file, data, err := l.read(name, definitionSuffix)
	if err != nil {
		return nil, err
	}
	return engine.Load(file, data)
}

// exchanges returns the recorded exchanges beside a definition.
func (l Library) exchanges(name string) (file string, data []byte, err error) {
	return l.read(name, exchangesSuffix)
}

func (l Library) read(name, suffix string) (file string, data []byte, err error) {
	if isFile := strings.HasSuffix(name, definitionSuffix); isFile {
		file = strings.TrimSuffix(name, definitionSuffix) + suffix
		data, err = os.ReadFile(file)
		return file, data, err
	}
	if l.folder != "" {
		file = filepath.Join(l.folder, name+suffix)
		if data, err = os.ReadFile(file); !errors.Is(err, fs.ErrNotExist) {
			return file, data, err
		}
	}
	file = name + suffix
	if data, err = definitions.Files.ReadFile(file); err != nil {
		return file, nil, fmt.Errorf("there is no definition %q; known: %s", name, strings.Join(definitions.Names, ", "))
	}
	return file, data, nil
}
