package quota

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// document is what the state file holds: what was spent, and how much more may
// have been spent since it was written.
type document struct {
	// Clean tells that the process ended after writing it, so that nothing was
	// spent since.
	Clean     bool                      `json:"clean"`
	Providers map[string]storedProvider `json:"providers"`
	Purses    []storedPurse             `json:"purses"`
	Stops     []storedStop              `json:"stops,omitempty"`
}

// storedStop is a switch that is off.
type storedStop struct {
	Scope  Scope     `json:"scope,omitempty"`
	Name   string    `json:"name,omitempty"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

type storedProvider struct {
	Pause  storedPause    `json:"pause"`
	Limits []storedWindow `json:"limits"`
}

type storedPause struct {
	Reason enrich.PauseReason `json:"reason,omitempty"`
	Until  time.Time          `json:"until"`
}

// storedWindow is the state of one limit.
type storedWindow struct {
	Name  string            `json:"name"`
	Shape enrich.LimitShape `json:"shape"`
	Unit  enrich.Unit       `json:"unit"`
	// Ahead is how many units may have been spent since.
	Ahead int64 `json:"ahead,omitempty"`

	// Of a fixed window.
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Before int64     `json:"before,omitempty"`
	Used   int64     `json:"used,omitempty"`
	After  int64     `json:"after,omitempty"`
	// Of a token bucket.
	Tokens float64   `json:"tokens,omitempty"`
	At     time.Time `json:"at"`
	// Of a sliding window.
	Log []storedEntry `json:"log,omitempty"`
}

type storedEntry struct {
	At time.Time `json:"at"`
	N  int64     `json:"n"`
}

// storedPurse is what was spent of a cap in a period.
type storedPurse struct {
	ID      string        `json:"id"`
	Account string        `json:"account,omitempty"`
	Start   time.Time     `json:"start"`
	Spent   enrich.Micros `json:"spent"`
	Ahead   enrich.Micros `json:"ahead,omitempty"`
}

// envelope is the file: a document and its sum.
type envelope struct {
	Version  int             `json:"version"`
	Sum      string          `json:"sha256"`
	Document json.RawMessage `json:"document"`
}

const fileVersion = 1

// errDamaged is a state file that does not say what was spent.
var errDamaged = errors.New("the file is damaged")

func encode(d document) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return json.Marshal(envelope{Version: fileVersion, Sum: hex.EncodeToString(sum[:]), Document: text})
}

func decode(text []byte) (d document, err error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return d, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if e.Version != fileVersion {
		return d, fmt.Errorf("%w: version %d is unknown", errDamaged, e.Version)
	}
	if sum := sha256.Sum256(e.Document); hex.EncodeToString(sum[:]) != e.Sum {
		return d, fmt.Errorf("%w: its sum does not match", errDamaged)
	}
	if err := json.Unmarshal(e.Document, &d); err != nil {
		return d, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return d, nil
}
