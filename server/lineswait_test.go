package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// TestLinesWaitLongerThanCallersMay has a stream over HTTP/2 whose questions have
// all been sent and wait for their account's rate longer than a caller may be
// silent.
func TestLinesWaitLongerThanCallersMay(t *testing.T) {
	ours := newAuthority(t)
	folder := t.TempDir()
	ours.serverPair(folder)
	synctest.Test(t, func(t *testing.T) {
		caller := Caller{Account: enrich.Account{Name: "sales"}, Rate: Rate{Requests: 1, Window: 2 * idleTimeout}}
		pair := TLSConfig{CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key")}
		b := newBubble(t, Config{TLS: pair}, echo, func(parts *Parts) { parts.Accounts = keyring{"": caller} })
		transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := b.http.dial()
			if err != nil {
				return nil, err
			}
			config := ours.trusting()
			config.NextProtos, config.Time = []string{"h2"}, func() time.Time { return ours.certificate.NotBefore.Add(time.Hour) }
			client := tls.Client(conn, config)
			return client, client.HandshakeContext(ctx)
		}}
		body, send := io.Pipe()
		go func() {
			for range 3 {
				_, _ = io.WriteString(send, `{"request":{"email":"jane"}}`+"\n")
			}
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://localhost/v1/enrich:stream", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", ndjson)
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.ProtoMajor != 2 {
			t.Errorf("it speaks %s", response.Proto)
		}
		answers := bufio.NewScanner(response.Body)
		for range 3 {
			if !answers.Scan() || !strings.Contains(answers.Text(), "jane") {
				t.Fatalf("answered %q, %v", answers.Text(), answers.Err())
			}
		}
		began := time.Now()
		if !answers.Scan() || !strings.Contains(answers.Text(), "idle") || time.Since(began) != idleTimeout {
			t.Errorf("the caller's silence ended with %q after %s", answers.Text(), time.Since(began))
		}
		_ = response.Body.Close()
		transport.CloseIdleConnections()
		b.stop()
	})
}
