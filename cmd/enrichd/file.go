package main

import (
	"fmt"
	"io"
	"os"
)

// readFile reads a whole file of at most that many bytes; a device could have
// no end.
func readFile(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return text, err
}
