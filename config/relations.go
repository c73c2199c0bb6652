package config

import (
	"fmt"
	"net"
	"strconv"
)

// relations are the problems between fields that no single package sees.
func (c Config) relations() (found []Problem) {
	edge := c.Server.WithDefaults()
	for _, listener := range []struct{ path, address string }{{"server.grpc", edge.GRPC}, {"server.http", edge.HTTP}} {
		_, port, err := net.SplitHostPort(listener.address)
		if number, portErr := strconv.Atoi(port); err == nil && (portErr != nil || number < 0 || number > 65535) {
			found = append(found, Problem{Path: listener.path, Text: "the port is not a number from 0 to 65535"})
		}
	}
	if _, port, _ := net.SplitHostPort(edge.GRPC); edge.GRPC == edge.HTTP && port != "0" {
		found = append(found, Problem{Path: "server.http", Text: "is the address of server.grpc; each listener needs its own"})
	}
	return found
}

// Warnings says what can be obeyed but is hardly meant.
func (c Config) Warnings() (warnings []string) {
	drain, budget := c.Server.WithDefaults().DrainTimeout, c.Answers.WithDefaults().RetryBudget
	if drain < budget {
		warnings = append(warnings, fmt.Sprintf(
			"server.drain_timeout, %s, is shorter than answers.retry_budget, %s: a stop can cut off answers that were paid for", drain, budget))
	}
	return warnings
}
