package redisconn

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/cache/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestValidateNamesTheField(t *testing.T) {
	one := []string{"127.0.0.1:6379"}
	for name, test := range map[string]struct {
		config Config
		want   string // "": nothing is wrong
	}{
		"none":                      {Config{}, ""},
		"one server":                {Config{Addresses: one}, ""},
		"fields without a Redis":    {Config{Password: "x"}, "addresses: "},
		"an address without a port": {Config{Addresses: []string{"redis"}}, "addresses[0]: "},
		"a socket":                  {Config{Addresses: []string{"/run/redis.sock"}}, ""},
		"a cluster of sockets":      {Config{Addresses: []string{"/run/redis.sock"}, Cluster: true}, "addresses[0]: "},
		"a socket with TLS":         {Config{Addresses: []string{"/run/redis.sock"}, TLS: TLS{Enabled: true}}, "addresses[0]: "},
		"a cluster with sentinels":  {Config{Addresses: one, Cluster: true, Master: "main"}, "master: "},
		"a negative database":       {Config{Addresses: one, DB: -1}, "db: "},
		"a cluster's database":      {Config{Addresses: append(one, "127.0.0.1:6380"), DB: 1}, "db: "},
		"a name alone":              {Config{Addresses: one, Username: "keeper"}, "password: "},
		"TLS fields without TLS":    {Config{Addresses: one, TLS: TLS{ServerName: "redis"}}, "tls.enabled: "},
		"a file that is not there":  {Config{Addresses: one, TLS: TLS{Enabled: true, CAFile: "none.pem"}}, "tls.ca_file: "},
		"a certificate alone":       {Config{Addresses: one, TLS: TLS{Enabled: true, CertFile: "none.pem"}}, "tls.cert_file: "},
	} {
		err := errors.Join(test.config.Validate()...)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestClientsReachEveryKindOfRedis(t *testing.T) {
	encrypted, files := redistest.StartTLS(t)
	socket := filepath.Join(t.TempDir(), "redis.sock")
	redistest.Start(t, "--unixsocket", socket)
	_, _, sentinel := redistest.StartSentinel(t, "main")
	var nodes []string
	for _, node := range redistest.StartCluster(t, 3) {
		nodes = append(nodes, node.Addr)
	}
	for name, config := range map[string]Config{
		"a server":     {Addresses: []string{redistest.Start(t, "--requirepass", "x").Addr}, Password: "x"},
		"a socket":     {Addresses: []string{socket}},
		"TLS":          {Addresses: []string{encrypted.Addr}, TLS: TLS{Enabled: true, CAFile: files.CA, CertFile: files.Cert, KeyFile: files.Key}},
		"sentinels":    {Addresses: []string{sentinel.Addr}, Master: "main"},
		"a cluster":    {Addresses: nodes},
		"one of three": {Addresses: nodes[:1], Cluster: true},
	} {
		client, err := config.Client(Options{Patience: 5 * time.Second, PoolSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b", "c"} {
			if err := client.Set(t.Context(), key, "1", time.Minute).Err(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := client.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARedisThatIsAwayIsTriedOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tried := make(chan struct{}, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			tried <- struct{}{}
			_ = conn.Close()
		}
	}()
	client, err := Config{Addresses: []string{listener.Addr().String()}}.Client(Options{Patience: time.Second, PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a server that hangs up answers")
	}
	_ = client.Close()
	_ = listener.Close()
	<-ended
	if len(tried) != 1 {
		t.Errorf("tried %d times", len(tried))
	}
}
