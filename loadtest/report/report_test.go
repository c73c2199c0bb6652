package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/report"
)

// sample is a report with everything in it, and names that would break a page
// that does not escape them.
func sample(seconds int) *judge.Report {
	r := &judge.Report{
		Scenario: "sample <&>", About: `About "it" & <b>so</b>.`, Began: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Seconds: float64(seconds),
		Replicas: 1, Commit: "abc",
		Checks:  []judge.Check{{Line: "duplicates <= 0", Figure: "duplicates", Value: 2, Known: true}, {Line: "quota_used >= 95%", Figure: "quota_used", Value: 0.99, Known: true, Passed: true}},
		Figures: map[string]float64{"answered": 1234, "duplicates": 2, "quota_used": 0.99, "wait.sales.p95": 0.1234},
		Marks:   []judge.Mark{{At: 3, What: "kill <replica> 1"}},
		Bands:   []judge.Band{{Vendor: "acme", Kind: "pause", What: "retry_after", From: 2, To: 5}, {Vendor: "acme", Kind: "breaker", What: "open", From: 4, To: 4}},
	}
	traffic := judge.Traffic{Name: "sales", Via: "rest", Lane: "interactive", Tally: drive.Tally{Codes: map[string]int64{}}}
	vendor := judge.Vendor{Name: "acme", Allowed: 100}
	process, redis := judge.Process{Name: "replica 1"}, judge.Process{Name: judge.Redis}
	for at := range seconds {
		point := drive.Point{At: at, Answered: int64(at % 7), P50: 0.01, P95: 0.1, P99: 1}
		traffic.Points = append(traffic.Points, point)
		vendor.Points = append(vendor.Points, judge.VendorPoint{At: at, Admitted: int64(at), Quota: 10})
		process.Points = append(process.Points, judge.ProcessPoint{At: at, Usage: fleet.Usage{RSS: 50 << 20, Files: 30, Goroutines: int64(at % 2 * 60)}})
		redis.Points = append(redis.Points, judge.ProcessPoint{At: at, Usage: fleet.Usage{RSS: 9 << 20, Files: 12}})
	}
	r.Traffic, r.Vendors, r.Processes = []judge.Traffic{traffic}, []judge.Vendor{vendor}, []judge.Process{process, redis}
	return r
}

var drawing = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// TestDrawingsAreWellFormed reads every drawing as XML and looks for numbers
// that no browser draws.
func TestDrawingsAreWellFormed(t *testing.T) {
	for _, seconds := range []int{0, 1, 20, 1200} {
		var page bytes.Buffer
		if err := report.WriteHTML(&page, sample(seconds)); err != nil {
			t.Fatal(err)
		}
		drawings := drawing.FindAllString(page.String(), -1)
		want := 12 // six charts in two sizes
		switch seconds {
		case 0:
			want = 6 // no process was seen
		case 1:
			want = 10 // none told how many goroutines it runs
		}
		if len(drawings) != want {
			t.Errorf("%d s: %d drawings, want %d", seconds, len(drawings), want)
		}
		for _, text := range drawings {
			decoder := xml.NewDecoder(strings.NewReader(text))
			for {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%d s: %v in %.300s", seconds, err, text)
				}
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%d s: a number that cannot be drawn in %.300s", seconds, text)
			}
			if len(text) > 40_000 {
				t.Errorf("%d s: a drawing of %d bytes", seconds, len(text))
			}
		}
	}
}

func TestThePageStandsAlone(t *testing.T) {
	var page bytes.Buffer
	if err := report.WriteHTML(&page, sample(20)); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, foreign := range []string{"<script", "<link", "src=", "@import", "url("} {
		if strings.Contains(text, foreign) {
			t.Errorf("the page has %q: it must need nothing else", foreign)
		}
	}
	if strings.Contains(text, "<b>so</b>") || strings.Contains(text, "kill <replica>") {
		t.Error("a text was not escaped")
	}
	head, _, _ := strings.Cut(text, "</header>")
	if !strings.Contains(head, "Not good") || !strings.Contains(head, "1 of 2 checks fail: duplicates &lt;= 0 (was 2).") {
		t.Errorf("the verdict is not at the top: %s", head[strings.Index(head, "<header"):])
	}
}

// TestWhatProcessesHeld finds for each kind of holding who had how much at the
// end, and nothing of those that told nothing.
func TestWhatProcessesHeld(t *testing.T) {
	r := sample(20)
	r.Figures["growth.goroutines"] = 1.25
	var page bytes.Buffer
	if err := report.WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at the end: replica 1 50, redis 9<", "at the end: replica 1 60; growth.goroutines 1.25<", "at the end: replica 1 30, redis 12<"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestAFailedRunSaysWhy reads the page and the terminal's lines of a run in which
// nobody was answered and a ledger was cut.
func TestAFailedRunSaysWhy(t *testing.T) {
	r := sample(3)
	r.Traffic[0].Tally.Codes = map[string]int64{"InvalidArgument": 7, "Unavailable": 45, "OK": 0}
	r.Vendors[0].Cut = 12
	var page, text bytes.Buffer
	if err := report.WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	report.Text(&text, r)
	for _, written := range []string{page.String(), text.String()} {
		for _, want := range []string{"45 Unavailable, 7 InvalidArgument", "no longer has the first 12 calls", "–"} {
			if !strings.Contains(written, want) {
				t.Errorf("no %q in\n%s", want, written)
			}
		}
	}
}

// TestLeadsThatWereAskedForLateAreTold unless they were next to none.
func TestLeadsThatWereAskedForLateAreTold(t *testing.T) {
	const late, never = "30 of 2000 leads were asked for late, by 1.2s at most", "1000 of 3000 leads were never asked for"
	for _, test := range []struct {
		delayed, never int64
		told           string
	}{
		{20, 0, ""},
		{30, 0, late + ": this machine"},
		{20, 1000, never + ": this machine"},
		{30, 1000, late + ", " + never + ": this machine"},
	} {
		r := sample(3)
		r.Traffic[0].NeverAsked = test.never
		r.Traffic[0].Tally.Asked, r.Traffic[0].Tally.Delayed, r.Traffic[0].Tally.LongestDelay = 2000, test.delayed, 1.2
		var page, text, kept bytes.Buffer
		if err := errors.Join(report.WriteHTML(&page, r), report.WriteJSON(&kept, r)); err != nil {
			t.Fatal(err)
		}
		report.Text(&text, r)
		for _, written := range []string{page.String(), text.String()} {
			if strings.Contains(written, "asked for") && test.told == "" || !strings.Contains(written, test.told) {
				t.Errorf("%d late, %d never: not %q in\n%s", test.delayed, test.never, test.told, written)
			}
		}
		for _, number := range []string{fmt.Sprintf(`"delayed": %d`, test.delayed), `"longest_delay": 1.2`, fmt.Sprintf(`"never_asked": %d`, test.never)} {
			if !strings.Contains(kept.String(), number) {
				t.Errorf("the JSON has no %s", number)
			}
		}
	}
}

// TestTilesOfFailedFiguresStandOut has duplicates that fail and a quota, of the
// lesser vendor, that holds.
func TestTilesOfFailedFiguresStandOut(t *testing.T) {
	r := sample(3)
	r.Vendors = append(r.Vendors, judge.Vendor{Name: "zenith"})
	r.Figures["quota_used.acme"], r.Figures["quota_used.zenith"] = 1, 0.99
	var page bytes.Buffer
	if err := report.WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<div class="tile failed"><b>2</b><span>paid twice</span>`,
		`<div class="tile"><b>99.00%</b><span>of the vendors&#39; quota used, the least: zenith</span>`,
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestMoneyIsShownInTheUnitOfBounds: who writes what a report shows as a bound
// gets that bound.
func TestMoneyIsShownInTheUnitOfBounds(t *testing.T) {
	r := sample(3)
	r.Checks[0] = judge.Check{Line: "cost_per_record <= 250000", Figure: "cost_per_record", Value: 280_000, Known: true}
	var text bytes.Buffer
	report.Text(&text, r)
	if !strings.Contains(text.String(), "280000 micros") {
		t.Errorf("text: %s", text.String())
	}
}

// TestAnInterruptedRunIsMarked in all that is written about it, though all of its
// checks hold.
func TestAnInterruptedRunIsMarked(t *testing.T) {
	r := sample(20)
	r.Checks, r.Interrupted, r.Seconds, r.Planned = r.Checks[1:], true, 192.4, 1200
	var page, text, kept, beside bytes.Buffer
	if err := errors.Join(report.WriteHTML(&page, r), report.WriteJSON(&kept, r)); err != nil {
		t.Fatal(err)
	}
	report.Text(&text, r)
	report.Compare(&beside, sample(20), r)
	for _, written := range []string{page.String(), text.String()} {
		if !strings.Contains(written, "interrupted after 3m12s of 20m, ") || !strings.Contains(written, "The one check holds.") || strings.Contains(written, "Good") {
			t.Errorf("no word of the interruption, or a good one, in\n%s", written)
		}
	}
	if !strings.Contains(page.String(), `<header class=""><div><h1>Interrupted: sample`) {
		t.Error("the page does not begin with the interruption")
	}
	if !strings.Contains(kept.String(), `"interrupted": true`) || !strings.Contains(kept.String(), `"planned_seconds": 1200`) {
		t.Errorf("kept %s", kept.String())
	}
	if !regexp.MustCompile(`verdict +Not good +Interrupted`).MatchString(beside.String()) {
		t.Errorf("compared:\n%s", beside.String())
	}
}

func TestLengthsAreShort(t *testing.T) {
	for want, seconds := range map[string]float64{"1.5s of 20s": 1.5, "0s of 20s": 0.01, "10s of 20s": 10.4, "1m of 20s": 60.2, "1h of 20s": 3600, "1h0m1s of 20s": 3601} {
		if got := report.Interrupted(&judge.Report{Interrupted: true, Seconds: seconds, Planned: 20}); got != "interrupted after "+want {
			t.Errorf("%v s: %q, want %q", seconds, got, want)
		}
	}
}

func TestJSONIsReadBack(t *testing.T) {
	var text bytes.Buffer
	if err := report.WriteJSON(&text, sample(3)); err != nil {
		t.Fatal(err)
	}
	read, err := report.ReadJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	if read.Figures["answered"] != 1234 || len(read.Vendors[0].Points) != 3 || read.Processes[0].Points[0].RSS != 50<<20 {
		t.Errorf("read back %+v", read)
	}
	if _, err := report.ReadJSON(strings.NewReader(`{"other": 1}`)); err == nil {
		t.Error("something else was read as a report")
	}
}

func TestCompare(t *testing.T) {
	before, after := sample(3), sample(3)
	after.Figures = map[string]float64{"answered": 2468, "hit_ratio": 0.5}
	after.Checks = after.Checks[1:]
	var text bytes.Buffer
	report.Compare(&text, before, after)
	for _, want := range []string{`answered +1234 +2468 +\+100.0 %`, `hit_ratio +– +50.00 %`, `duplicates +2 +–`, `verdict +Not good +Good`} {
		if !regexp.MustCompile(want).MatchString(text.String()) {
			t.Errorf("no line like %q in\n%s", want, text.String())
		}
	}
}

func TestTextSaysWhatFailed(t *testing.T) {
	var text bytes.Buffer
	r := sample(3)
	r.Checks[0].Known, r.Checks[0].Value = false, math.NaN()
	report.Text(&text, r)
	if !strings.Contains(text.String(), "✗ duplicates <= 0") || !strings.Contains(text.String(), "not measured") {
		t.Errorf("text: %s", text.String())
	}
}
