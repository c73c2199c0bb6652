package server

import "github.com/enrichd/enrichd/enrich"

// eighths of the most requests under way up to which a lane's are let in: as
// the service fills, bulk is refused first and interactive last.
var eighths = map[enrich.Lane]int64{enrich.Bulk: 6, enrich.Standard: 7, enrich.Interactive: 8}

// shed refuses a question of a request that was let in when the rest of the
// room is kept for more urgent lanes.
func (l *load) shed(lane enrich.Lane) error {
	others := l.grpc.Load() + l.rest.Load() - 1
	if others*8 < l.most*eighths[lane] {
		return nil
	}
	return overloaded()
}
