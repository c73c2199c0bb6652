package server

import (
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
		z.begin(len(data))
	}
	if z.zipper != nil {
		return z.zipper.Write(data)
	}
	return z.ResponseWriter.Write(data)
}

func (z *zipped) begin(length int) {
	z.begun = true
	if z.accepted && length >= worthZipping {
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
		z.begin(0)
	}
	if z.zipper != nil {
		_ = z.zipper.Close()
		zippers.Put(z.zipper)
	}
}

// Unwrap returns the writer below, for http.ResponseController.
func (z *zipped) Unwrap() http.ResponseWriter { return z.ResponseWriter }
