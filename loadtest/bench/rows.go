package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/enrichd/enrichd/loadtest/results"
)

// row is one line of the table.
type row struct {
	name, what string
	must, aim  string
	// long rows take minutes and are left out unless named.
	long bool
	// rounds are repeated, and what counts of them is what the table says.
	rounds  bool
	measure func(ctx context.Context, b *bench) (result, error)
}

// result is what a row measured.
type result struct {
	value string
	// how it came about: the parts of a ratio, or what else was seen.
	detail string
	// drains at a vendor's limit, if the row is about one.
	drains []results.Drain
	failed bool
}

// rows in the order of the table.
var rows = slices.Concat(costRows, drainRows)

// costRows are those of what the service costs.
var costRows = []row{
	{name: "C1", what: "memory hit over gRPC, CPU over bare echo", must: "≤ 1.25", aim: "≤ 1.0", rounds: true, measure: memoryHit},
	{name: "C2", what: "Redis hit over gRPC, CPU over bare echo", must: "≤ 2.2", aim: "≤ 1.7", rounds: true, measure: redisHit},
	{name: "C3", what: "memory hit over REST, CPU over bare net/http", must: "≤ 2.5", aim: "≤ 1.8", rounds: true, measure: restHit},
	{name: "C4", what: "batch of 100, CPU per record over bare unary echo", must: "≤ .30", aim: "≤ .10", rounds: true, measure: batch},
	{name: "C4s", what: "stream, CPU per record over bare unary echo", must: "≤ .45", aim: "≤ .20", rounds: true, measure: stream},
	{name: "C5", what: "open loop at 10,000/s, P99 over bare echo's", must: "≤ 1.5", aim: "≤ 1.0", rounds: true, measure: openLoop},
	{name: "C6", what: "many records in memory, CPU over few", must: "≤ 1.15", aim: "≤ 1.05", long: true, rounds: true, measure: fullMemory},
	{name: "C7", what: "miss, CPU over one bare net/http client call", must: "≤ 4", aim: "≤ 2.5", rounds: true, measure: miss},
	{name: "C7m", what: "miss, 256 at once, CPU over one bare net/http client call", must: "≤ 4", aim: "≤ 2.5", rounds: true, measure: manyMisses},
	{name: "C7b", what: "miss in a batch of 100, CPU over one bare net/http client call", must: "≤ 4", aim: "≤ 2.5", rounds: true, measure: missBatch},
	{name: "R1", what: "Redis trips for limiting per vendor call, backlog", must: "≤ 1.0", aim: "≤ .4", measure: limitingTrips},
	{name: "R2", what: "Redis trips per lead: memory hit; Redis hit; miss", must: "0; ≤ 1; ≤ 5", aim: "0; ≤ 1; ≤ 3", measure: tripsPerLead},
	{name: "R3", what: "Redis hung, then gone: added median latency", must: "≤ 1; ≤ 1 ms", aim: "0; 0", measure: redisAway},
	{name: "M1", what: "resident memory idle", must: "≤ 40 MiB", aim: "", measure: idleMemory},
	{name: "M1f", what: "resident memory after many leads, over cache size", must: "≤ 1.25", aim: "", long: true, measure: memoryBound},
}

func ratio(value float64) string { return fmt.Sprintf("%.2f", value) }
