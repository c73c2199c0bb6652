package server

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// worthZipping is the shortest answer, in bytes, that is compressed: about what
// one packet carries.
const worthZipping = 1400

var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// zipped compresses an answer for a caller who accepts it, when its first part
// is long enough; answers are written in one part.
type zipped struct {
	http.ResponseWriter
	accepted bool
	status   int
	begun    bool
	zipper   *gzip.Writer // nil: written as it is
}

// zip returns a writer that is to be closed when the answer is whole.
func zip(w http.ResponseWriter, r *http.Request) *zipped {
	w.Header().Add("Vary", "Accept-Encoding")
	return &zipped{ResponseWriter: w, accepted: acceptsGzip(r.Header.Values("Accept-Encoding")), status: http.StatusOK}
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3).
func acceptsGzip(values []string) bool {
	for _, coding := range strings.Split(strings.Join(values, ","), ",") {
		name, weight, weighted := strings.Cut(coding, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		_, number, _ := strings.Cut(weight, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		return !weighted || err == nil && q > 0
	}
	return false
}

// WriteHeader keeps the status until the first part is there.
func (z *zipped) WriteHeader(status int) { z.status = status }

// Write sends a part of the answer.
func (z *zipped) Write(data []byte) (int, error) {
	if !z.begun {
		z.begin(data)
	}
	if z.zipper != nil {
		return z.zipper.Write(data)
	}
	return z.ResponseWriter.Write(data)
}

func (z *zipped) begin(first []byte) {
	z.begun = true
	switch {
	case z.accepted && isZipped(first):
		z.Header().Set("Content-Encoding", "gzip")
		z.Header().Set("Content-Length", strconv.Itoa(len(first)))
	case z.accepted && len(first) >= worthZipping:
		z.Header().Set("Content-Encoding", "gzip")
		z.Header().Del("Content-Length")
		z.zipper = zippers.Get().(*gzip.Writer)
		z.zipper.Reset(z.ResponseWriter)
	}
	z.ResponseWriter.WriteHeader(z.status)
}

// close sends what is still kept.
func (z *zipped) close() {
	if !z.begun {
		z.begin(nil)
	}
	if z.zipper != nil {
		_ = z.zipper.Close()
		zippers.Put(z.zipper)
	}
}

// isZipped tells whether an answer is compressed already; no JSON or text begins
// like that (RFC 1952, section 2.3.1).
func isZipped(answer []byte) bool { return bytes.HasPrefix(answer, []byte{0x1f, 0x8b}) }

// zippedBytes compresses an answer that is kept.
func zippedBytes(answer []byte) []byte {
	var out bytes.Buffer
	zipper := zippers.Get().(*gzip.Writer)
	zipper.Reset(&out)
	_, _ = zipper.Write(answer) // a buffer takes everything
	_ = zipper.Close()
	zippers.Put(zipper)
	return out.Bytes()
}

// Unwrap returns the writer below, for http.ResponseController.
func (z *zipped) Unwrap() http.ResponseWriter { return z.ResponseWriter }
