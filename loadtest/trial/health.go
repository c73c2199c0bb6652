package trial

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// operator is the account that asks replicas how their providers are.
const operator = "loadtest-operator"

// breakerOpen is the reason of a pause that is told as a breaker already.
const breakerOpen = "breaker_open"

// health asks replicas for pauses and breakers and turns what they say into
// bands. Replicas that are away or do not say are passed over.
type health struct {
	trial       *trial
	connections map[*fleet.Process]*grpc.ClientConn
	open        map[state]judge.Band // still holding
	ended       []judge.Band
}

// state is something that holds for a vendor.
type state struct{ vendor, kind string }

func newHealth(t *trial) *health {
	return &health{trial: t, connections: map[*fleet.Process]*grpc.ClientConn{}, open: map[state]judge.Band{}}
}

// look asks every replica once. What one of them says holds.
func (h *health) look(ctx context.Context, at float64) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said := make([][]*enrichv1.ProviderState, len(h.trial.replicas))
	var asking sync.WaitGroup
	for i, replica := range h.trial.replicas {
		process := replica.Current()
		if process.Ended() {
			continue
		}
		if connection := h.connection(process); connection != nil {
			asking.Go(func() { said[i] = h.providers(ctx, connection) })
		}
	}
	asking.Wait()
	holding := map[state]string{}
	for _, provider := range slices.Concat(said...) {
		if pause := provider.GetPause(); pause != nil && pause.GetReason() != breakerOpen {
			holding[state{provider.GetName(), "pause"}] = pause.GetReason()
		}
		if breaker := provider.GetBreaker(); breaker == "open" || breaker == "half_open" {
			holding[state{provider.GetName(), "breaker"}] = breaker
		}
	}
	for held, band := range h.open {
		if _, still := holding[held]; !still {
			band.To = at
			h.ended = append(h.ended, band)
			delete(h.open, held)
		}
	}
	for held, what := range holding {
		if _, known := h.open[held]; !known {
			h.open[held] = judge.Band{Vendor: held.vendor, Kind: held.kind, What: what, From: max(at-1, 0)}
		}
	}
}

// connection to a process; nil when there can be none.
func (h *health) connection(process *fleet.Process) *grpc.ClientConn {
	if h.connections[process] == nil {
		opened, err := grpc.NewClient(process.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil
		}
		h.connections[process] = opened
	}
	return h.connections[process]
}

func (h *health) providers(ctx context.Context, connection *grpc.ClientConn) []*enrichv1.ProviderState {
	answer, err := enrichv1.NewAdminServiceClient(connection).ListProviders(h.trial.authorize(ctx), &enrichv1.ListProvidersRequest{})
	if err != nil {
		return nil
	}
	return answer.GetProviders()
}

// authorize adds the operator's key where replicas want one.
func (t *trial) authorize(ctx context.Context) context.Context {
	if key := t.keys[operator]; key != "" {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	}
	return ctx
}

// bands returns all, those that still hold as ending at the given second.
func (h *health) bands(at float64) []judge.Band {
	all := slices.Clone(h.ended)
	for band := range maps.Values(h.open) {
		band.To = at
		all = append(all, band)
	}
	slices.SortFunc(all, func(a, b judge.Band) int { return int(1000 * (a.From - b.From)) })
	return all
}

func (h *health) close() {
	for _, connection := range h.connections {
		_ = connection.Close()
	}
}
