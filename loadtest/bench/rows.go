package main

import (
	"context"
	"fmt"
)

// row is one line of the table.
type row struct {
	name, what string
	must, aim  string
	// long rows take minutes and are left out unless named.
	long    bool
	measure func(ctx context.Context, b *bench) (result, error)
}

// result is what a row measured.
type result struct {
	value string
	// how it came about: the parts of a ratio, or what else was seen.
	detail string
}

// rows in the order of the table.
var rows = []row{
	{name: "C1", what: "memory hit over gRPC, CPU over bare echo", must: "≤ 1.25", aim: "≤ 1.0", measure: memoryHit},
	{name: "C2", what: "Redis hit over gRPC, CPU over bare echo", must: "≤ 2.2", aim: "≤ 1.7", measure: redisHit},
	{name: "C3", what: "memory hit over REST, CPU over bare net/http", must: "≤ 2.5", aim: "≤ 1.8", measure: restHit},
	{name: "C7", what: "miss, CPU over one bare net/http client call", must: "≤ 4", aim: "≤ 2.5", measure: miss},
}

func ratio(value float64) string { return fmt.Sprintf("%.2f", value) }
