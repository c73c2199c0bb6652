package fakevendor

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// The default holds and sizes of faults.
const (
	defaultHang = 5 * time.Minute
	defaultDrip = 30 * time.Second
	defaultHuge = 10 << 20
	defaultBomb = 100 << 20
)

// instead answers for the vendor when the fault leaves it nothing to do.
func (v *vendor) instead(c *call, hit strike, n uint64) (answer, bool) {
	status := func(otherwise int) int {
		if hit.Status == 0 {
			return otherwise
		}
		return hit.Status
	}
	failed := func(status int) answer {
		a := c.refuse(refusal{outcome: enrich.Temporary, status: status})
		if hit.RetryAfter != "" {
			a.header("Retry-After", hit.RetryAfter)
		}
		return a
	}
	switch hit.kind() {
	case Outage:
		if hit.Status == 0 {
			return answer{outcome: enrich.Temporary}, true
		}
		return failed(hit.Status), true
	case Brownout:
		wait(c.request.Context(), hit.latency)
		return failed(status(http.StatusServiceUnavailable)), true
	case Storm:
		return c.refuse(refusal{outcome: enrich.RateLimited, limit: "storm"}), true
	case Sequence:
		switch next := hit.Statuses[(n-1)%uint64(len(hit.Statuses))]; next {
		case http.StatusOK:
			return answer{}, false
		case http.StatusTooManyRequests:
			return c.refuse(refusal{outcome: enrich.RateLimited, limit: "sequence"}), true
		default:
			return failed(next), true
		}
	case HTML:
		return answer{outcome: enrich.Malformed, status: status(http.StatusOK), contentType: "text/html; charset=utf-8", body: page}, true
	case Redirect:
		a := answer{outcome: enrich.Malformed, status: status(http.StatusFound), contentType: "text/plain", body: ""}
		a.header("Location", hit.Location)
		return a, true
	}
	return answer{}, false
}

// page is what a proxy in front of a vendor may answer.
const page = "<!DOCTYPE html>\n<html><head><title>Please wait</title></head><body><h1>Checking your browser</h1></body></html>\n"

// hold is the time for which a hanging call keeps its place.
func (c *call) hold(hit strike) {
	if hit.kind() != Hang {
		return
	}
	held := hit.Hold
	if held == 0 {
		held = defaultHang
	}
	wait(c.request.Context(), held)
}

// deliver books the call and sends the answer, damaged as the fault has it.
// The booking comes first: who has the answer finds the call in the ledger.
func (v *vendor) deliver(c *call, w http.ResponseWriter, a answer, hit strike, under int64) {
	if a.status != 0 && c.route != nil {
		v.dialect.decorate(c, &a)
	}
	switch hit.kind() {
	case Hang:
		a.outcome, a.status = enrich.Timeout, 0
	case EarlyClose, Truncated, Malformed, Huge, GzipBomb:
		a.outcome = enrich.Malformed
	case Drift:
		for _, path := range hit.Fields {
			a.body = drift(a.body, strings.Split(path, "."), hit.Change)
		}
	case ContentType:
		a.contentType = hit.ContentType
		if a.contentType == "" {
			a.contentType = "text/plain"
		}
	}
	c.note.Outcome, c.note.Status, c.note.Limit = a.outcome, a.status, a.limit
	c.note.Abandoned = c.request.Context().Err() != nil
	c.note.Milliseconds = float64(time.Since(c.arrived).Microseconds()) / 1000
	v.ledger.add(c.note, under)
	if a.status == 0 {
		panic(http.ErrAbortHandler) // the server closes the connection
	}
	c.send(w, a, hit)
}

// buffers of answers under way.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// send writes the answer.
func (c *call) send(w http.ResponseWriter, a answer, hit strike) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	body := (*buffer)[:0]
	if text, ok := a.body.(string); ok && a.contentType != "" {
		body = append(body, text...)
	} else {
		body = appendJSON(body, a.body)
	}
	*buffer = body

	header := w.Header()
	if a.contentType == "" {
		a.contentType = "application/json"
	}
	header["Content-Type"] = []string{a.contentType}
	for _, h := range a.headers {
		header[http.CanonicalHeaderKey(h[0])] = append(header[http.CanonicalHeaderKey(h[0])], h[1])
	}
	if c.set.Limits.ClockSkew != 0 {
		header.Set("Date", c.now.UTC().Format(http.TimeFormat))
	}
	whole := len(body)
	switch hit.kind() {
	case Truncated:
		body, whole = body[:len(body)/2], len(body)/2
	case Malformed:
		body = append(bytes.Clone(body[:len(body)/2]), "\": ,,}"...)
		whole = len(body)
	case EarlyClose:
		body = body[:len(body)/2]
	case GzipBomb:
		body = bomb(sizeOr(hit.Size, defaultBomb))
		whole = len(body)
		header.Set("Content-Encoding", "gzip")
	case Huge:
		c.sendHuge(w, a.status, sizeOr(hit.Size, defaultHuge))
		return
	}
	header["Content-Length"] = []string{strconv.Itoa(whole)}
	w.WriteHeader(a.status)
	if hit.kind() == Drip {
		c.drip(w, body, hit.Hold)
		return
	}
	w.Write(body)
	if hit.kind() == EarlyClose {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drip sends the body in small pieces over the whole of hold.
func (c *call) drip(w http.ResponseWriter, body []byte, hold time.Duration) {
	if hold == 0 {
		hold = defaultDrip
	}
	const pieces = 20
	piece := (len(body) + pieces - 1) / pieces
	for len(body) > 0 && c.request.Context().Err() == nil {
		wait(c.request.Context(), hold/pieces)
		n := min(piece, len(body))
		w.Write(body[:n])
		http.NewResponseController(w).Flush()
		body = body[n:]
	}
}

// sendHuge sends a JSON object of the given size.
func (c *call) sendHuge(w http.ResponseWriter, status, size int) {
	const open, end = `{"padding":"`, `"}`
	size = max(size, len(open)+len(end))
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(status)
	w.Write([]byte(open))
	chunk := bytes.Repeat([]byte("x"), 32<<10)
	for left := size - len(open) - len(end); left > 0; {
		n, err := w.Write(chunk[:min(left, len(chunk))])
		if err != nil {
			return
		}
		left -= n
	}
	w.Write([]byte(end))
}

// bomb is a gzip stream of so many blanks: the same member again and again,
// and a last one for the rest.
func bomb(size int) []byte {
	packed := bytes.Repeat(bombMember(), size/bombPiece)
	return append(packed, gzipBlanks(size%bombPiece)...)
}

const bombPiece = 1 << 20

var bombMember = sync.OnceValue(func() []byte { return gzipBlanks(bombPiece) })

func gzipBlanks(size int) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(bytes.Repeat([]byte(" "), size)) // writing to memory does not fail
	z.Close()
	return packed.Bytes()
}

func sizeOr(size, otherwise int) int {
	if size == 0 {
		return otherwise
	}
	return size
}
