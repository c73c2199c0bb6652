package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// companionGrace is how long the streams of gRPC's health and reflection
// services live on in a drain: long enough to be told that the service stops.
const companionGrace = time.Second

// arrivalGrace is how long a drain waits for the message of a request whose
// headers are there.
const arrivalGrace = time.Second

// announce reports the service as not ready, and returns after the drain delay.
// Requests are taken meanwhile.
func (s *Server) announce() {
	s.leaving.Store(true)
	s.health.Shutdown()
	if s.config.DrainDelay > 0 {
		s.log.Info("stopping: not ready any more, new requests are still taken", "for", s.config.DrainDelay)
		<-time.After(s.config.DrainDelay)
	}
}

// drain reports the service as not serving, stops accepting on both listeners
// at once and lets the requests under way finish side by side, until the drain
// timeout. Connections without a request, and requests that have not been sent
// whole, are not waited for.
func (s *Server) drain() {
	s.health.Shutdown()
	s.beginDrain()
	s.arrivals.hasten()
	s.grpcDoor.dismiss()
	s.httpDoor.dismiss()
	ctx, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	var paths sync.WaitGroup
	paths.Go(func() { s.drainGRPC(ctx) })
	paths.Go(func() { s.drainREST(ctx) })
	paths.Wait()
}

func (s *Server) drainGRPC(ctx context.Context) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.log.Warn("requests were cut off", "path", "grpc", "requests", s.load.grpc.Load(), "after", s.config.DrainTimeout)
		s.grpc.Stop()
	}
}

// shutdownRound is how often a drain tells HTTP/2 connections that the service
// stops.
const shutdownRound = time.Second

// drainREST lets the REST requests finish. Shutdown tells the HTTP/2 connections of
// its first moment alone, and waits for those whose handshake was under way then,
// requests or not: so it is begun again and again.
func (s *Server) drainREST(ctx context.Context) {
	for ctx.Err() == nil {
		round, cancel := context.WithTimeout(ctx, shutdownRound)
		err := s.http.Shutdown(round)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return
		}
	}
	s.log.Warn("requests were cut off", "path", "rest", "requests", s.load.rest.Load(), "after", s.config.DrainTimeout)
	_ = s.http.Close()
}
