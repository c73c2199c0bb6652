package quota

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Observer is told what happens, for metrics. Its methods may be called by many
// goroutines at once, must return quickly and must not call back.
type Observer interface {
	// Granted: a call may begin after this wait.
	Granted(provider string, lane enrich.Lane, waited time.Duration)
	// Refused: a call may not begin, for one of enrich's Reason words.
	Refused(provider string, lane enrich.Lane, reason string)
	// Paused: the provider is closed until then; the zero time: until somebody
	// resumes it. An empty reason: the pause is over.
	Paused(provider string, reason enrich.PauseReason, until time.Time)
	// Surprised: the vendor refused a call that the account allowed.
	Surprised(provider string)
	// Leased: calls were booked ahead from the shared account, or why not, as
	// "granted", "full", "rebuilt" or "failed".
	Leased(provider string, result string)
}

// Nobody observes nothing.
type Nobody struct{}

var _ Observer = Nobody{}

// Granted does nothing.
func (Nobody) Granted(string, enrich.Lane, time.Duration) {}

// Refused does nothing.
func (Nobody) Refused(string, enrich.Lane, string) {}

// Paused does nothing.
func (Nobody) Paused(string, enrich.PauseReason, time.Time) {}

// Surprised does nothing.
func (Nobody) Surprised(string) {}

// Leased does nothing.
func (Nobody) Leased(string, string) {}
