package intake

import (
	"errors"
	"io"
	"os"
)

// Spool is a file that was put aside, because it is read more than once. It is
// gone once it is closed.
type Spool struct{ *os.File }

// NewSpool makes an empty one in the system's folder for temporary files.
func NewSpool() (*Spool, error) {
	file, err := os.CreateTemp("", "enrichd-leads-")
	if err != nil {
		return nil, err
	}
	return &Spool{file}, nil
}

// Close removes the file.
func (s *Spool) Close() error { return errors.Join(s.File.Close(), os.Remove(s.Name())) }

// Rewound returns the file with its beginning to be read next.
func (s *Spool) Rewound() (*Spool, error) {
	_, err := s.Seek(0, io.SeekStart)
	return s, err
}
