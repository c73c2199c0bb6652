package providers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// response is what came back. A body that broke off or was too long is cut:
// then it is no longer JSON, and the rules see only the status.
type response struct {
	status int
	header http.Header
	body   []byte
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

// once is a body that can be read only once, also for requests without one:
// net/http silently sends a request again when a kept connection breaks, if it
// can, and a paid call must not be made twice.
type once struct{ io.Reader }

func (once) Close() error { return nil }

// exchange sends one request and reads its response.
func (v *Vendor) exchange(ctx context.Context, out engine.Outgoing) (response, *failure) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	})
	request := (&http.Request{
		Method: out.Method, URL: out.URL, Host: out.URL.Host, Header: out.Header,
		Body: once{bytes.NewReader(out.Body)}, ContentLength: int64(len(out.Body)),
	}).WithContext(ctx)
	switch {
	case len(out.Body) > 0:
	case out.Method == http.MethodGet:
		// Without a length net/http would probe the body in a goroutine.
		request.TransferEncoding = []string{"identity"}
	default:
		request.Body = http.NoBody
	}
	answer, err := v.client.Do(request)
	if err != nil {
		return response{}, v.failureOf(ctx, err, sent.Load())
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, v.maxAnswer+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return response{}, v.failureOf(ctx, err, true)
	case int64(len(body)) > v.maxAnswer:
		body = nil
	case err != nil:
		body = nil
	}
	return response{answer.StatusCode, answer.Header, body}, nil
}

// failureOf names why there is no response. The error itself is dropped: its
// text holds the address with everything in it.
func (v *Vendor) failureOf(ctx context.Context, err error, sent bool) *failure {
	failed := &failure{outcome: enrich.Temporary, charge: enrich.KnownCharge(0), reason: "no connection"}
	if sent {
		failed.charge, failed.reason = enrich.Charge{}, "the connection broke before an answer"
	}
	switch {
	case errors.Is(err, errPrivateAddress):
		failed.reason = errPrivateAddress.Error()
	case errors.Is(ctx.Err(), context.Canceled):
		failed.outcome, failed.reason = enrich.Timeout, "the caller gave up"
	case ctx.Err() != nil:
		failed.outcome, failed.reason = enrich.Timeout, "no answer in time"
	}
	return failed
}
