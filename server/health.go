package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// readinessTick is how often gRPC's health service learns whether new requests
// are welcome; /readyz asks each time.
const readinessTick = time.Second

// tellHealth tells gRPC's health service of each service, and of all together,
// whether requests are welcome. Operators are always.
func (s *Server) tellHealth(problems []string) {
	state := healthpb.HealthCheckResponse_SERVING
	if len(problems) > 0 {
		state = healthpb.HealthCheckResponse_NOT_SERVING
	}
	s.health.SetServingStatus("", state)
	s.health.SetServingStatus(enrichv1.EnrichService_ServiceDesc.ServiceName, state)
	s.health.SetServingStatus(enrichv1.LeadService_ServiceDesc.ServiceName, state)
	s.health.SetServingStatus(enrichv1.LeadAdminService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	s.health.SetServingStatus(enrichv1.AdminService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
}

// watchReadiness keeps gRPC's health service up to date until the service stops.
func (s *Server) watchReadiness(stopped context.Context) {
	tick := time.NewTicker(readinessTick)
	defer tick.Stop()
	for {
		s.tellHealth(s.parts.Readiness.Problems())
		select {
		case <-tick.C:
		case <-stopped.Done():
			return
		}
	}
}

// writeReady tells whether new requests are welcome, and else why not.
func (s *Server) writeReady(w http.ResponseWriter, _ *http.Request) {
	problems := s.parts.Readiness.Problems()
	if s.leaving.Load() || s.draining.Err() != nil {
		problems = append(problems, "stopping: send new requests elsewhere")
	}
	if len(problems) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(strings.Join(problems, "\n") + "\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
