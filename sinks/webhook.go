package sinks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sony/gobreaker/v2"
)

// WebhookConfig is a receiver of Standard Webhooks.
type WebhookConfig struct {
	// Name of the sink, by which its deliveries are known for ever.
	Name string `yaml:"name"`
	// URL takes the messages by POST. It is https unless AllowPrivate.
	URL string `yaml:"url"`
	// Secrets sign every message, each with a signature of its own, so that a
	// receiver can change to a new one; "whsec_" and base64. Required.
	Secrets []string `yaml:"secrets" secret:"true"`
	// Timeout of one attempt. Default 20s.
	Timeout time.Duration `yaml:"timeout"`
	// AllowPrivate lets the URL lead to loopback, private and link-local
	// addresses, and to plain http. Default false: whoever writes the URL could
	// reach the network behind the program.
	AllowPrivate bool `yaml:"allow_private"`
}

const (
	defaultTimeout  = 20 * time.Second
	longestHint     = 24 * time.Hour
	breakerFailures = 5
	breakerOpenFor  = 30 * time.Second
	goneFor         = time.Hour // then one may see whether it is back
	mostOfAnswer    = 64 << 10  // read so that the connection can be used again
)

// errPrivate is the error of a connection to an address inside.
var errPrivate = errors.New("sinks: the address is private")

// Webhook posts messages to a URL.
type Webhook struct {
	name    string
	url     string
	secrets []Secret
	client  *http.Client
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	gone    atomic.Int64 // till when the receiver is taken to be gone, Unix nanoseconds
	opened  atomic.Int64 // when the breaker opened, Unix nanoseconds
}

var _ Sink = (*Webhook)(nil)

// NewWebhook makes a sink of a configuration. Its errors name the field.
func NewWebhook(config WebhookConfig) (*Webhook, error) {
	target, err := url.Parse(config.URL)
	if err != nil || target.Host == "" || target.Scheme != "https" && !(config.AllowPrivate && target.Scheme == "http") {
		return nil, errors.New("url: not an https address")
	}
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	w := &Webhook{name: config.Name, url: config.URL}
	for _, text := range config.Secrets {
		secret, err := ParseSecret(text)
		if err != nil {
			return nil, fmt.Errorf("secrets: %w", err)
		}
		w.secrets = append(w.secrets, secret)
	}
	if len(w.secrets) == 0 {
		return nil, errors.New("secrets: none given")
	}
	dialer := &net.Dialer{Timeout: config.Timeout}
	if !config.AllowPrivate {
		dialer.Control = refusePrivate
	}
	w.client = &http.Client{
		Timeout:       config.Timeout,
		Transport:     &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: config.Timeout, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	w.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:   1,
		Timeout:       breakerOpenFor,
		ReadyToTrip:   func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= breakerFailures },
		OnStateChange: func(string, gobreaker.State, gobreaker.State) { w.opened.Store(time.Now().UnixNano()) },
	})
	return w, nil
}

// refusePrivate ends a connection to an address inside after the name was
// looked up, so that no name can lead there.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return errPrivate
	}
	ip := target.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || carrierGrade.Contains(ip) {
		return errPrivate
	}
	return nil
}

// carrierGrade is the shared address space of RFC 6598, which is not public.
var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

// Name of the sink.
func (w *Webhook) Name() string { return w.name }

// Close ends idle connections.
func (w *Webhook) Close() error {
	w.client.CloseIdleConnections()
	return nil
}

// Deliver posts one message. Every attempt is signed anew; the id stays.
func (w *Webhook) Deliver(ctx context.Context, message Message) error {
	if !message.Replayed && time.Now().UnixNano() < w.gone.Load() {
		return &Error{Class: Gone, Reason: "status_410"}
	}
	done, err := w.breaker.Allow()
	if err != nil {
		return &Error{Class: Later, Reason: "breaker_open", ReadyAt: time.Unix(0, w.opened.Load()).Add(breakerOpenFor), Cause: err}
	}
	failure := w.post(ctx, message)
	if failure == nil {
		w.gone.Store(0) // a replay may have found it back
		done(nil)
		return nil
	}
	var verdict error
	if failure.Class == Later && failure.Reason != "status_429" && ctx.Err() == nil { // the others speak of the message
		verdict = failure
	}
	done(verdict)
	if failure.Class == Gone {
		w.gone.Store(time.Now().Add(goneFor).UnixNano())
	}
	return failure
}

func (w *Webhook) post(ctx context.Context, message Message) *Error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(message.Body))
	if err != nil {
		return &Error{Class: Refused, Reason: "url"}
	}
	now := time.Now()
	signatures := make([]string, len(w.secrets))
	for i, secret := range w.secrets {
		signatures[i] = secret.Sign(message.ID, now, message.Body)
	}
	for name, value := range map[string]string{
		"Content-Type":      "application/json",
		"User-Agent":        "enrichd",
		"Webhook-Id":        message.ID,
		"Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10),
		"Webhook-Signature": strings.Join(signatures, " "),
		"Idempotency-Key":   `"` + message.OperationKey + `"`, // a structured field: a text in quotes
	} {
		request.Header.Set(name, value)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return unreachable(err)
	}
	defer response.Body.Close()
	io.Copy(io.Discard, io.LimitReader(response.Body, mostOfAnswer))
	return judge(response.StatusCode, response.Header.Get("Retry-After"), now)
}

// unreachable is the error of an attempt without an answer. The cause is not
// kept: its text has the URL, which may hold a secret.
func unreachable(err error) *Error {
	var timeout net.Error
	switch {
	case errors.Is(err, errPrivate):
		return &Error{Class: Refused, Reason: "private_address", Attempted: true, Cause: errPrivate}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Class: Later, Reason: "timeout", Attempted: true}
	default:
		return &Error{Class: Later, Reason: "unreachable", Attempted: true}
	}
}

// judge says what a status means; nil: the receiver has the message.
func judge(status int, retryAfter string, now time.Time) *Error {
	failure := &Error{Class: Later, Reason: "status_" + strconv.Itoa(status), Attempted: true}
	switch status {
	case http.StatusGone:
		failure.Class = Gone
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		failure.Class = Refused
	default: // a receiver that is misconfigured may be put right meanwhile
		if status >= 200 && status < 300 {
			return nil
		}
		failure.ReadyAt = hint(retryAfter, now)
	}
	return failure
}

// hint reads Retry-After: seconds or a date (RFC 9110, section 10.2.3).
func hint(text string, now time.Time) time.Time {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 {
		return now.Add(min(time.Duration(min(seconds, int64(longestHint/time.Second)))*time.Second, longestHint))
	}
	if date, err := http.ParseTime(text); err == nil && date.After(now) {
		return now.Add(min(date.Sub(now), longestHint))
	}
	return time.Time{}
}
