package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bound is one line of an SLO: a figure that must be at most or at least
// something.
type Bound struct {
	Line   string
	Figure string
	// AtMost is true for <=, false for >=.
	AtMost bool
	// Value in the figure's own unit: seconds, shares of 1, or counts.
	Value float64
}

// ParseBound reads "figure <= value" or "figure >= value". The value may be a
// number, a percentage ("95%") or a time ("300ms").
func ParseBound(line string) (Bound, error) {
	words := strings.Fields(line)
	if len(words) != 3 || (words[1] != "<=" && words[1] != ">=") {
		return Bound{}, fmt.Errorf("%q is not of the form: figure <= value", line)
	}
	value, err := parseValue(words[2])
	if err != nil {
		return Bound{}, fmt.Errorf("%q: %w", line, err)
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return Bound{}, fmt.Errorf("%q: %s bounds nothing", line, words[2])
	}
	return Bound{Line: line, Figure: words[0], AtMost: words[1] == "<=", Value: value}, nil
}

func parseValue(text string) (float64, error) {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		value, err := strconv.ParseFloat(percent, 64)
		return value / 100, err
	}
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		return value, nil
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no number, percentage or time", text)
	}
	return length.Seconds(), nil
}

// Holds tells whether a value is within the bound.
func (b Bound) Holds(value float64) bool {
	if b.AtMost {
		return value <= b.Value
	}
	return value >= b.Value
}
