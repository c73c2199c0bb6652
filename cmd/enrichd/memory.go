package main

import (
	"log/slog"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// limitMemory has the garbage collector work harder near nine tenths of the
// memory that the process's control group allows, instead of being killed at
// the whole. A GOMEMLIMIT that is set is left as it is; without a control group
// there is no limit.
func limitMemory(log *slog.Logger) {
	limit, err := memlimit.Set(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.FromCgroup))
	if err != nil {
		log.Debug("no memory limit", "reason", err)
		return
	}
	log.Debug("memory limit", "bytes", limit)
}
