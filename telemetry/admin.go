package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of the admin listener. An execution trace or a CPU profile takes the
// seconds that it is asked for, 30 by default, before the answer begins.
const (
	adminReadTimeout  = 10 * time.Second
	adminWriteTimeout = 2 * time.Minute
	mostScrapes       = 4
)

// admin is the listener for operators; nil: there is none.
type admin struct {
	listener net.Listener
	server   *http.Server
	ended    chan struct{}
}

func listenAdmin(address string, registry *prometheus.Registry, log *slog.Logger) (*admin, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	a := &admin{
		listener: listener,
		server: &http.Server{
			Handler:           adminPages(registry, log),
			ReadHeaderTimeout: adminReadTimeout,
			ReadTimeout:       adminReadTimeout,
			WriteTimeout:      adminWriteTimeout,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
		ended: make(chan struct{}),
	}
	go func() {
		defer close(a.ended)
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the admin listener failed: metrics and profiles are not served any more", "error", err)
		}
	}()
	return a, nil
}

func adminPages(registry *prometheus.Registry, log *slog.Logger) http.Handler {
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)

	pages := http.NewServeMux()
	pages.Handle("/debug/pprof/", localOnly(profiles))
	pages.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics:   true, // exemplars exist in this format only
		MaxRequestsInFlight: mostScrapes,
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}))
	return pages
}

// localOnly refuses callers from other machines, and pages of other sites that
// a browser on this one has open: a profile shows what the program works on.
func localOnly(profiles http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) {
			http.Error(w, "profiles are for callers on the same machine, by a loopback address", http.StatusForbidden)
			return
		}
		profiles.ServeHTTP(w, r)
	})
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (a *admin) address() string {
	if a == nil {
		return ""
	}
	return a.listener.Addr().String()
}

// close lets answers under way end until ctx does.
func (a *admin) close(ctx context.Context) error {
	if a == nil {
		return nil
	}
	err := a.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, a.server.Close())
	}
	<-a.ended
	return err
}
