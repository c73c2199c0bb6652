package providers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// response is what came back. A body that broke off or was too long is left
// out, so that the rules see only the status.
type response struct {
	status int
	header http.Header
	body   []byte
	buffer *bytes.Buffer // that holds the body; nil: it is kept nowhere
}

// buffers hold bodies while they are read, one after the other.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// release ends the use of the body.
func (r response) release() {
	const most = 64 << 10 // bytes: not to keep what one huge answer took
	if r.buffer != nil && r.buffer.Cap() <= most {
		r.buffer.Reset()
		buffers.Put(r.buffer)
	}
}

// send makes one exchange.
type send func(context.Context, engine.Outgoing) (response, *failure)

// failure is an exchange without a response.
type failure struct {
	outcome enrich.Outcome
	// charge is unknown once the request was on its way.
	charge enrich.Charge
	reason string
}

// exchange sends one request and reads its response. Its body can be read only
// once, also where it is empty: net/http silently sends a request again when a
// kept connection breaks, if it can, and a paid call must not be made twice.
func (v *Vendor) exchange(ctx context.Context, out engine.Outgoing) (response, *failure) {
	request := (&http.Request{
		Method: out.Method, URL: out.URL, Host: out.URL.Host, Header: out.Header,
		Body: io.NopCloser(bytes.NewReader(out.Body)), ContentLength: int64(len(out.Body)),
	}).WithContext(ctx)
	switch {
	case len(out.Body) > 0:
	case out.Method == http.MethodGet:
		request.TransferEncoding = asItIs
	default:
		request.Body = http.NoBody
	}
	if v.config.TraceContext {
		carryTrace(ctx, request.Header)
	}
	answer, err := v.roundTrip(request)
	if err != nil {
		return response{}, failureOf(ctx, err)
	}
	defer answer.Body.Close()
	buffer := buffers.Get().(*bytes.Buffer)
	body, err := v.read(answer, buffer)
	if err != nil && ctx.Err() != nil {
		return response{}, failureOf(ctx, err)
	}
	return response{answer.StatusCode, answer.Header, body, buffer}, nil
}

// read reads a body as far as it may go. One that breaks off or is too long is
// left out altogether: what is left of it proves nothing.
func (v *Vendor) read(answer *http.Response, into *bytes.Buffer) ([]byte, error) {
	into.Grow(int(max(min(answer.ContentLength, v.maxAnswer), 0)) + bytes.MinRead)
	n, err := into.ReadFrom(io.LimitReader(answer.Body, v.maxAnswer+1))
	if err != nil || n > v.maxAnswer {
		return nil, err
	}
	return into.Bytes(), nil
}

// asItIs says that a body is sent as it is, were it empty. Without it net/http
// finds out in a goroutine of its own whether an empty body of a GET is empty.
var asItIs = []string{"identity"}

// failureOf names why there is no response. The error itself is dropped: its
// text holds the address with everything in it. Unless it is sure that nothing
// was sent, nobody knows what the exchange cost.
func failureOf(ctx context.Context, err error) *failure {
	failed := &failure{outcome: enrich.Temporary, reason: "the connection broke before an answer"}
	var undialed *dialError
	var mistrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errPrivateAddress):
		failed.charge, failed.reason = enrich.KnownCharge(0), errPrivateAddress.Error()
	case errors.As(err, &mistrusted):
		failed.charge, failed.reason = enrich.KnownCharge(0), "the vendor's certificate is not trusted"
	case errors.As(err, &undialed):
		failed.charge, failed.reason = enrich.KnownCharge(0), "no connection"
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		failed.outcome, failed.reason = enrich.Timeout, "the caller gave up"
	case ctx.Err() != nil:
		failed.outcome, failed.reason = enrich.Timeout, "no answer in time"
	}
	return failed
}
