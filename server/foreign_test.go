package server

import (
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestForeignPagesAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, origin, host string
		remote, refused    bool
	}{
		{"a program", "", "127.0.0.1:8470", false, false},
		{"a program by name", "", "localhost:8470", false, false},
		{"a program over IPv6", "", "[::1]:8470", false, false},
		{"a program without a host", "", "", false, false},
		{"our own page", "http://localhost:8470", "localhost:8470", false, false},
		{"a page", "https://evil.example", "127.0.0.1:8470", false, true},
		{"a page of another port", "http://localhost:3000", "localhost:8470", false, true},
		{"a page without an origin to tell", "null", "localhost:8470", false, true},
		{"a page whose name is ours", "http://evil.example:8470", "evil.example:8470", false, true},
		{"a name that resolves to us", "", "evil.example", false, true},
		{"a name that begins like ours", "", "localhost.evil.example", false, true},
		{"another machine's address", "", "192.0.2.1:8470", false, true},
		{"behind something", "", "enrichd.example", true, false},
		{"a page behind something", "https://evil.example", "enrichd.example", true, true},
		{"our own page behind something", "https://enrichd.example", "enrichd.example", true, false},
	} {
		if err := (&Server{open: true, config: Config{AllowRemote: test.remote}}).checkForeign(test.origin, test.host); (err != nil) != test.refused {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestForeignPagesAreRefusedOnBothPaths(t *testing.T) {
	edge := start(t, unasked(t))
	for _, header := range []string{"Origin: https://evil.example", "Origin: null", "Host: evil.example"} {
		for _, path := range []string{"/v1/enrich", "/openapi.json"} {
			code, _, body := edge.ask(t, http.MethodPost, path, `{"email":"x"}`, header)
			if err := failed(t, body); code != http.StatusForbidden || status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s %s: answered %d: %s", path, header, code, body)
			}
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "origin", "https://evil.example")
	if _, err := edge.grpc.Enrich(ctx, emailOf("x")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("gRPC with an origin: %v", err)
	}
	named, err := grpc.NewClient(edge.conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("evil.example"))
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if _, err := enrichv1.NewEnrichServiceClient(named).Enrich(t.Context(), emailOf("x")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("gRPC for another host: %v", err)
	}
	watch, err := healthpb.NewHealthClient(named).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("a stream for another host: %v", err)
	}
}
