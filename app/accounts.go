package app

import (
	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/server"
)

// callers are the registry's in the edge's words.
type callers struct{ registry *accounts.Registry }

// ByKey returns whom an API key belongs to.
func (c callers) ByKey(key string) (server.Caller, bool) { return asked(c.registry.ByKey(key)) }

// ByName returns whom a name in a client's certificate belongs to.
func (c callers) ByName(name string) (server.Caller, bool) { return asked(c.registry.ByName(name)) }

func asked(caller accounts.Caller, known bool) (server.Caller, bool) {
	return server.Caller{
		Account: caller.Account,
		Admin:   caller.Admin,
		Rate:    server.Rate{Requests: int64(caller.Rate.Requests), Window: caller.Rate.Window},
	}, known
}
