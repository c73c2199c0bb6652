package trial

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/workload"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// service answers each question by a function.
type service func(ctx context.Context, question drive.Question) drive.Answer

func (s service) Ask(ctx context.Context, questions []drive.Question, answered func(int, drive.Answer)) {
	for i, question := range questions {
		answered(i, s(ctx, question))
	}
}

func (service) Close() error { return nil }

// asked is what comes out when a service is asked for so long.
func asked(t *testing.T, traffic scenario.Traffic, length time.Duration, o *oracle, s service) map[string]float64 {
	t.Helper()
	return outcome(t, traffic, length, o, s).Figures
}

func outcome(t *testing.T, traffic scenario.Traffic, length time.Duration, o *oracle, s service) *judge.Report {
	t.Helper()
	traffic.Name, traffic.Batch, traffic.Clump, traffic.Until = "clicks", 1, 1, length
	if traffic.Workers == 0 {
		traffic.Workers = 1000
	}
	source, facts, err := workload.New(traffic.Name, traffic.Workload)
	if err != nil {
		t.Fatal(err)
	}
	open := func() (drive.Driver, error) { return s, nil }
	c := &caller{Traffic: traffic, source: source, recorder: drive.NewRecorder(), doors: []*door{{open: open}}}
	switch {
	case o != nil:
		c.known = o
	case facts != nil:
		c.known = filed{facts}
	}
	began := time.Now()
	ctx, cancel := context.WithDeadline(t.Context(), began.Add(length))
	defer cancel()
	c.ask(ctx, began)
	synctest.Wait()
	evidence := judge.Evidence{Began: began, Length: length, RedisTrips: -1, Traffic: []judge.Traffic{c.result(length)}}
	return judge.Judge(&scenario.Scenario{}, evidence)
}

func hang(ctx context.Context, _ drive.Question) drive.Answer {
	<-ctx.Done()
	return drive.Answer{Code: "Canceled"}
}

// TestWhoNeverAnswersHasFailed asks a service that keeps every question.
func TestWhoNeverAnswersHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := asked(t, scenario.Traffic{Rate: 10, Budget: 20 * time.Second}, time.Minute, nil, hang)
		if f["failed_share"] != 1 || f["unfinished"] < 200 || f["unfinished"] > 220 {
			t.Errorf("%v failed, %v unfinished; want all, but for those of the last 21 s", f["failed_share"], f["unfinished"])
		}
		if wait, known := f["wait.clicks.p95"]; known {
			t.Errorf("waits of %v s for no answer", wait)
		}
	})
}

// TestAWaitWithoutAnEndIsLong asks a service that keeps every second question
// and answers the others at once.
func TestAWaitWithoutAnEndIsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asks atomic.Int64
		f := asked(t, scenario.Traffic{Rate: 10}, 40*time.Second, nil, func(ctx context.Context, q drive.Question) drive.Answer {
			if asks.Add(1)%2 == 0 {
				return drive.Answer{Code: "OK"}
			}
			return hang(ctx, q)
		})
		if got := f["wait.clicks.p95"]; got < 35 || got > 37 {
			t.Errorf("95 %% waited for %v s at most, want some 36: half waits for up to 40", got)
		}
		if f["failed_share"] != 0 {
			t.Errorf("%v failed before their budget was over", f["failed_share"])
		}
	})
}

// TestAnAnswerAfterItsBudgetIsLate asks a service that takes its time.
func TestAnAnswerAfterItsBudgetIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]float64{2 * time.Second: 0, 20 * time.Second: 1} {
			f := asked(t, scenario.Traffic{Rate: 10, Budget: 2 * time.Second}, time.Minute, nil, func(context.Context, drive.Question) drive.Answer {
				time.Sleep(took)
				return drive.Answer{Code: "OK"}
			})
			if f["failed_share"] != want {
				t.Errorf("%v of the answers after %s failed, want %v", f["failed_share"], took, want)
			}
		}
	})
}

// TestWhoCannotAskInTimeIsTold has one worker for 10 leads a second, and a service
// that keeps it for a second in the midst, or for all the time.
func TestWhoCannotAskInTimeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asks atomic.Int64
		stalls := func(ctx context.Context, q drive.Question) drive.Answer {
			if asks.Add(1) == 50 {
				time.Sleep(time.Second)
			}
			return drive.Answer{Code: "OK"}
		}
		traffic := outcome(t, scenario.Traffic{Rate: 10, Workers: 1}, time.Minute, nil, stalls).Traffic[0]
		if traffic.Tally.Delayed != 9 || traffic.Tally.LongestDelay != 0.9 || traffic.NeverAsked != 0 {
			t.Errorf("after a stall %d were asked late, by %v s at most, %d never; want 9 by 0.9 s", traffic.Tally.Delayed, traffic.Tally.LongestDelay, traffic.NeverAsked)
		}
		traffic = outcome(t, scenario.Traffic{Rate: 10, Workers: 1}, time.Minute, nil, hang).Traffic[0]
		if traffic.Tally.Asked != 1 || traffic.NeverAsked != 599 {
			t.Errorf("of a service that hangs %d were asked, %d never; want all but the first", traffic.Tally.Asked, traffic.NeverAsked)
		}
		traffic = outcome(t, scenario.Traffic{Workers: 1}, time.Minute, nil, hang).Traffic[0]
		if traffic.Tally.Delayed != 0 || traffic.NeverAsked != 0 {
			t.Errorf("who waits for its answer before it asks again is late %d times and never asks %d", traffic.Tally.Delayed, traffic.NeverAsked)
		}
	})
}

func TestNextToNothingWasAskedAll(t *testing.T) {
	for name, test := range map[string]struct {
		scenario.Traffic

		asked, never int64
	}{
		"flood":       {scenario.Traffic{Rate: 100_000, Batch: 1, Clump: 1, Until: 3 * time.Second}, 52_437, 247_563},
		"clumps":      {scenario.Traffic{Rate: 10, Batch: 1, Clump: 20, From: 2 * time.Second, Until: time.Minute}, 0, 0},
		"few":         {scenario.Traffic{Rate: 100, Batch: 1, Clump: 1, Leads: 7, Until: 3 * time.Second}, 7, 0},
		"not begun":   {scenario.Traffic{Rate: 10, Batch: 1, Clump: 1, From: 5 * time.Second, Until: time.Minute}, 0, 0},
		"a hundredth": {scenario.Traffic{Rate: 1000, Batch: 1, Clump: 1, Until: time.Minute}, 2969, 0},
	} {
		if got := neverAsked(test.Traffic, 3*time.Second, test.asked); got != test.never {
			t.Errorf("%s: %d were never asked for, want %d", name, got, test.never)
		}
	}
}

// TestABacklogIsNoFailure has more workers than a service can serve at once. It
// serves them in their order, but for one that it may forget.
func TestABacklogIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, forgets := range []bool{false, true} {
			places := make(chan struct{}, 10)
			var asks atomic.Int64
			f := asked(t, scenario.Traffic{Workers: 100}, time.Minute, nil, func(ctx context.Context, q drive.Question) drive.Answer {
				if asks.Add(1) == 7 && forgets {
					return hang(ctx, q)
				}
				select {
				case places <- struct{}{}:
				case <-ctx.Done():
					return drive.Answer{Code: "Canceled"}
				}
				time.Sleep(time.Second)
				<-places
				return drive.Answer{Code: "OK"}
			})
			// At the last moment ten may be answered, and the forgotten one has failed.
			if f["failed_share"] > 0.01 || f["answered"] < 580 || f["unfinished"] < 89 {
				t.Errorf("%v failed, %v answered, %v unfinished", f["failed_share"], f["answered"], f["unfinished"])
			}
			if got := f["overtaken.clicks"]; got > 10 && !forgets || got < 450 && forgets {
				t.Errorf("somebody was overtaken by %v of %v (forgotten: %t)", got, f["answered"], forgets)
			}
		}
	})
}

// TestAnswersAreComparedWithTheTruth asks services that tell the truth, a part of
// it, nothing, everybody the same, and of an error. The first vendor knows no
// titles; the second does.
func TestAnswersAreComparedWithTheTruth(t *testing.T) {
	vendors, err := fakevendor.New(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{
		"first":  {Dialect: "peopledatalabs", Data: &fakevendor.Data{Knowledge: truth.Knowledge{Attributes: map[string]float64{"person.title": 1}}}},
		"second": {Dialect: "hunter", Data: &fakevendor.Data{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := newOracle(vendors, map[string]string{"first": "peopledatalabs", "second": "hunter"})
	if err != nil {
		t.Fatal(err)
	}
	about := func(email string) drive.Answer {
		facts := vendors.Truth(email)
		title, city := facts["person.title"].(string), facts["person.city"].(string)
		count := facts["company.employee_count"].(int64)
		return drive.Answer{Code: "OK", Tier: "vendor", Response: &enrichv1.EnrichResponse{
			Person: &enrichv1.Person{Title: &title, City: &city}, Company: &enrichv1.Company{EmployeeCount: &count, Technologies: facts["company.technologies"].([]string)},
		}}
	}
	first := workload.Address("clicks", 0)
	for name, test := range map[string]struct {
		service              service
		lost, missing, wrong float64
	}{
		"true": {func(_ context.Context, q drive.Question) drive.Answer { return about(q.Email) }, 0, 0, 0},
		"what the first vendor knows": {func(_ context.Context, q drive.Question) drive.Answer {
			answer := about(q.Email)
			answer.Response.Person.Title = nil
			return answer
		}, 0, 0.5, 0},
		"the first's": {func(context.Context, drive.Question) drive.Answer { return about(first) }, 0, 0, 1},
		"a wrong number": {func(_ context.Context, q drive.Question) drive.Answer {
			answer := about(q.Email)
			*answer.Response.Company.EmployeeCount++
			return answer
		}, 0, 0, 1},
		"a wrong list": {func(_ context.Context, q drive.Question) drive.Answer {
			answer := about(q.Email)
			answer.Response.Company.Technologies = []string{"invented"}
			return answer
		}, 0, 0, 1},
		"a wrong word": {func(_ context.Context, q drive.Question) drive.Answer {
			answer := about(q.Email)
			answer.Response.Person.EmailStatus = enrichv1.EmailStatus_EMAIL_STATUS_DISPOSABLE.Enum()
			return answer
		}, 0, 0, 1},
		"nothing": {func(context.Context, drive.Question) drive.Answer {
			return drive.Answer{Code: "OK", Outcome: "not_found", Response: &enrichv1.EnrichResponse{}}
		}, 1, -1, 0},
		"an error": {func(context.Context, drive.Question) drive.Answer { return drive.Answer{Code: "Unavailable"} }, 1, -1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			fields := []string{"person.title", "person.city", "person.email_status"}
			f := asked(t, scenario.Traffic{Rate: 10, Fields: fields}, 10*time.Second, o, test.service)
			if f["lost_share"] != test.lost || (f["wrong_answers"] > 50) != (test.wrong > 0) {
				t.Errorf("%s: lost share %v, %v wrong answers", name, f["lost_share"], f["wrong_answers"])
			}
			if missing, known := f["missing_share"]; known != (test.missing >= 0) || known && missing != test.missing {
				t.Errorf("%s: missing share %v (known: %t), want %v", name, missing, known, test.missing)
			}
			if test.lost > 0 {
				if wrong, known := f["wrong_answers"]; known {
					t.Errorf("%s: %v wrong answers where there was nothing to compare", name, wrong)
				}
			}
		})
	}
}

// TestAnswersAreComparedWithTheFile asks services about a lead of whom a file
// says one thing, another of whom it says nothing, and a third of whom it says
// all that is asked for.
func TestAnswersAreComparedWithTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leads.csv")
	text := "email,notes,person.title,company.employee_count\nada@acme.example,x,Engineer,\nbo@acme.example,x,,\ncy@acme.example,x,Engineer,20\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tell := func(title string, count int64) service {
		return func(context.Context, drive.Question) drive.Answer {
			company := &enrichv1.Company{}
			if count > 0 {
				company.EmployeeCount = &count
			}
			return drive.Answer{Code: "OK", Tier: "vendor", Response: &enrichv1.EnrichResponse{Person: &enrichv1.Person{Title: &title}, Company: company}}
		}
	}
	nothing := func(context.Context, drive.Question) drive.Answer {
		return drive.Answer{Code: "OK", Outcome: "not_found", Response: &enrichv1.EnrichResponse{}}
	}
	for name, test := range map[string]struct {
		service service
		want    judge.Examined
	}{
		"true":         {tell("Engineer", 20), judge.Examined{Known: 20, Fields: 30, Compared: 20}},
		"a part":       {tell("Engineer", 0), judge.Examined{Known: 20, Fields: 30, Missing: 10, Compared: 20}},
		"wrong":        {tell("Clerk", 20), judge.Examined{Known: 20, Fields: 30, Compared: 20, Wrong: 20}},
		"wrong number": {tell("Engineer", 21), judge.Examined{Known: 20, Fields: 30, Compared: 20, Wrong: 10}},
		"nothing":      {nothing, judge.Examined{Known: 20, Lost: 20}},
	} {
		synctest.Test(t, func(t *testing.T) {
			traffic := scenario.Traffic{Rate: 10, Leads: 30, Workload: scenario.Workload{Kind: "csv", File: file}}
			if got := outcome(t, traffic, 10*time.Second, nil, test.service).Traffic[0].Examined; got != test.want {
				t.Errorf("%s: %+v, want %+v", name, got, test.want)
			}
		})
	}
}

// TestOnlyWhatCanBeToldIsExpected has a vendor that knows nobody, and one whose
// definition does not read all that it knows.
func TestOnlyWhatCanBeToldIsExpected(t *testing.T) {
	vendors, err := fakevendor.New(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{
		"peopledatalabs": {Data: &fakevendor.Data{}},
		"hunter":         {Data: &fakevendor.Data{Knowledge: truth.Knowledge{Miss: 1}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := newOracle(vendors, map[string]string{"peopledatalabs": "peopledatalabs", "hunter": "hunter"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		email, fields string
		want          bool
	}{
		{"ada.north@blue-river.example", "person.title", true},
		{"ada.north@blue-river.example", "person", true},
		{"ada.north@blue-river.example", "person.time_zone", false},      // Hunter alone reads it
		{"ada.north@blue-river.example", "company.founded_year", true},   // by a call of its own
		{"ada.north@blue-river.example", "company.revenue_range", false}, // no call is made to get it
		{"ada.north@gmail.com", "company.name", false},
	} {
		if got := len(o.expected(test.email, []string{test.fields})) > 0; got != test.want {
			t.Errorf("%s of %s is expected: %t, want %t", test.fields, test.email, got, test.want)
		}
	}
	if all := o.expected("ada.north@blue-river.example", nil); !all["person.title"] || !all["company.name"] || all["person.time_zone"] {
		t.Errorf("without fields %v is expected", all)
	}
}
