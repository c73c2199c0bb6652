package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/loadtest/judge"
)

// verdict is the first thing a reader sees.
func verdict(r *judge.Report) (word, sentence string) {
	word, sentence = checked(r)
	if told := Interrupted(r); told != "" {
		return "Interrupted", "It was " + told + ", which is never good. Until then: " + sentence
	}
	return word, sentence
}

// Interrupted says of a run that somebody ended how far it came; nothing of
// others.
func Interrupted(r *judge.Report) string {
	if !r.Interrupted {
		return ""
	}
	return "interrupted after " + length(r.Seconds) + " of " + length(r.Planned)
}

// length of a load, in seconds, without the zeros of a round one.
func length(value float64) string {
	length, step := time.Duration(value*float64(time.Second)), time.Second
	if length < 10*time.Second {
		step = 100 * time.Millisecond
	}
	text := length.Round(step).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// checked is the verdict by the checks alone.
func checked(r *judge.Report) (word, sentence string) {
	var failed []string
	for _, check := range r.Checks {
		if !check.Passed {
			failed = append(failed, check.Line+" (was "+measured(check)+")")
		}
	}
	switch {
	case len(r.Checks) == 0:
		return "Not judged", "The scenario demands nothing."
	case len(failed) == 0 && len(r.Checks) == 1:
		return "Good", "The one check holds."
	case len(failed) == 0:
		return "Good", fmt.Sprintf("All %d checks hold.", len(r.Checks))
	default:
		return "Not good", fmt.Sprintf("%d of %d checks fail: %s.", len(failed), len(r.Checks), strings.Join(failed, "; "))
	}
}

func measured(check judge.Check) string {
	if !check.Known {
		return "not measured"
	}
	return figure(check.Figure, check.Value)
}

// figure writes a figure's value the way its name wants.
func figure(name string, value float64) string {
	base, _, _ := strings.Cut(name, ".")
	switch {
	case base == "wait":
		return seconds(value)
	case strings.HasSuffix(base, "_share") || base == "hit_ratio" || base == "quota_used":
		return fmt.Sprintf("%.2f %%", 100*value)
	case strings.HasSuffix(base, "micros") || base == "cost_per_record":
		return fmt.Sprintf("%.0f micros", value) // the unit of bounds
	case value == float64(int64(value)):
		return fmt.Sprintf("%d", int64(value))
	default:
		return fmt.Sprintf("%.3g", value)
	}
}

// failures names the codes of what failed, the most frequent first; nothing
// when nothing failed.
func failures(t judge.Traffic) string {
	var failed []string
	for _, code := range slices.SortedFunc(maps.Keys(t.Tally.Codes), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Tally.Codes[b], t.Tally.Codes[a]), cmp.Compare(a, b))
	}) {
		if code != "OK" {
			failed = append(failed, fmt.Sprintf("%d %s", t.Tally.Codes[code], code))
		}
	}
	return strings.Join(failed, ", ")
}

// unpunctual tells of leads that were asked for after their time, or never;
// nothing when that was next to none.
func unpunctual(t judge.Traffic) string {
	var told []string
	if t.Tally.Delayed > t.Tally.Asked/100 {
		told = append(told, fmt.Sprintf("%d of %d leads were asked for late, by %s at most", t.Tally.Delayed, t.Tally.Asked, seconds(t.Tally.LongestDelay)))
	}
	if t.NeverAsked > 0 {
		told = append(told, fmt.Sprintf("%d of %d leads were never asked for", t.NeverAsked, t.Tally.Asked+t.NeverAsked))
	}
	if len(told) == 0 {
		return ""
	}
	return strings.Join(told, ", ") + ": this machine or its workers could not keep up with the rate"
}

// wait is how long a share of a traffic's questions took; a dash when none was
// answered.
func wait(t judge.Traffic, value float64) string {
	if t.Tally.Answered == 0 {
		return "–"
	}
	return seconds(value)
}

func seconds(value float64) string {
	length := time.Duration(value * float64(time.Second))
	switch {
	case length >= 10*time.Second:
		return length.Round(100 * time.Millisecond).String()
	case length >= time.Second:
		return length.Round(10 * time.Millisecond).String()
	case length >= time.Millisecond:
		return length.Round(100 * time.Microsecond).String()
	default:
		return length.Round(time.Microsecond).String()
	}
}
