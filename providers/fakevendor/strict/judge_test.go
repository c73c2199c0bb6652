package strict

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// noon is an instant aligned to every window of the tests.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func judge(t *testing.T, limits []Limit, bans ...Ban) *Judge {
	t.Helper()
	j, err := NewJudge(limits, bans)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// admitted counts how many of n calls at one moment are let in.
func admitted(j *Judge, n int, now time.Time) (in int) {
	for range n {
		if j.Admit(Call{}, now).Admitted {
			in++
		}
	}
	return in
}

func TestEachShapeAdmitsExactlyItsAmount(t *testing.T) {
	type step struct {
		after time.Duration // since noon
		calls int
		in    int
	}
	for _, test := range []struct {
		name  string
		limit Limit
		steps []step
	}{
		{"bucket: burst, then one token every 100 ms",
			Limit{Shape: TokenBucket, Amount: 10, Burst: 20, Window: time.Second},
			[]step{{0, 30, 20}, {99 * time.Millisecond, 5, 0}, {100 * time.Millisecond, 5, 1}, {450 * time.Millisecond, 9, 3}, {time.Hour, 30, 20}}},
		{"bucket: a rate that does not divide the second",
			Limit{Shape: TokenBucket, Amount: 7, Burst: 1, Window: time.Second},
			[]step{{0, 2, 1}, {142_857_142, 2, 0}, {142_857_143, 2, 1}}},
		{"fixed: a full window just before the edge, another just after",
			Limit{Shape: Fixed, Amount: 5, Window: time.Minute},
			[]step{{59 * time.Second, 9, 5}, {time.Minute - 1, 9, 0}, {time.Minute, 9, 5}, {2*time.Minute - 1, 9, 0}}},
		{"sliding: a unit comes back a window after it was taken",
			Limit{Shape: Sliding, Amount: 2, Window: time.Minute},
			[]step{{0, 1, 1}, {30 * time.Second, 2, 1}, {time.Minute - 1, 1, 0}, {time.Minute, 2, 1}, {90 * time.Second, 2, 1}}},
		{"concurrency: nobody leaves",
			Limit{Shape: Concurrency, Amount: 3},
			[]step{{0, 5, 3}, {time.Hour, 5, 0}}},
		{"nothing at all", Limit{Shape: Fixed, Window: time.Minute}, []step{{0, 3, 0}, {time.Hour, 3, 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := judge(t, []Limit{test.limit})
			for _, s := range test.steps {
				if in := admitted(j, s.calls, noon.Add(s.after)); in != s.in {
					t.Errorf("%s after noon: %d of %d let in, want %d", s.after, in, s.calls, s.in)
				}
			}
		})
	}
}

func TestReadyAtIsTheFirstMomentThatAdmits(t *testing.T) {
	shapes := []Limit{
		{Name: "bucket", Shape: TokenBucket, Amount: 7, Burst: 3, Window: time.Second},
		{Name: "fixed", Shape: Fixed, Amount: 4, Window: time.Second},
		{Name: "sliding", Shape: Sliding, Amount: 5, Window: time.Second},
		{Name: "day", Shape: Day, Amount: 50, Zone: "America/New_York", ResetAt: "07:00"},
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for _, limits := range [][]Limit{shapes[:1], shapes[1:2], shapes[2:3], shapes[3:], shapes} {
		j := judge(t, limits)
		now := noon
		for range 2000 {
			now = now.Add(time.Duration(chance.IntN(200)) * time.Millisecond)
			verdict := j.Ask(Call{}, now)
			if verdict.Admitted {
				j.Admit(Call{}, now)
				continue
			}
			if before := j.Ask(Call{}, verdict.ReadyAt.Add(-1)); before.Admitted {
				t.Fatalf("%s admits before its ReadyAt", verdict.Limit)
			}
			now = verdict.ReadyAt
			if !j.Admit(Call{}, now).Admitted {
				t.Fatalf("%s refuses at its ReadyAt", verdict.Limit)
			}
		}
	}
}

func TestDayAndMonthFollowTheZone(t *testing.T) {
	in := func(zone string) *time.Location {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		return location
	}
	berlin := in("Europe/Berlin")
	for _, test := range []struct {
		name         string
		limit        Limit
		before, from time.Time
	}{
		{"day in Berlin", Limit{Shape: Day, Zone: "Europe/Berlin"},
			time.Date(2026, 3, 1, 23, 59, 59, 0, berlin), time.Date(2026, 3, 2, 0, 0, 0, 0, berlin)},
		{"day that loses an hour", Limit{Shape: Day, Zone: "Europe/Berlin"},
			time.Date(2026, 3, 29, 23, 59, 59, 0, berlin), time.Date(2026, 3, 30, 0, 0, 0, 0, berlin)},
		{"day from half past nine", Limit{Shape: Day, Zone: "Asia/Kolkata", ResetAt: "09:30"},
			time.Date(2026, 3, 2, 9, 29, 0, 0, in("Asia/Kolkata")), time.Date(2026, 3, 2, 9, 30, 0, 0, in("Asia/Kolkata"))},
		{"month", Limit{Shape: Month, Zone: "Europe/Berlin"},
			time.Date(2026, 2, 28, 23, 59, 0, 0, berlin), time.Date(2026, 3, 1, 0, 0, 0, 0, berlin)},
		{"hour in a zone of half hours", Limit{Shape: Fixed, Window: time.Hour, Zone: "Asia/Kolkata"},
			time.Date(2026, 3, 2, 9, 59, 0, 0, in("Asia/Kolkata")), time.Date(2026, 3, 2, 10, 0, 0, 0, in("Asia/Kolkata"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.limit.Amount = 1
			j := judge(t, []Limit{test.limit})
			verdict := Verdict{}
			if !j.Admit(Call{}, test.before).Admitted {
				t.Fatal("the first is refused")
			}
			if verdict = j.Admit(Call{}, test.before); verdict.Admitted || !verdict.ReadyAt.Equal(test.from) {
				t.Errorf("second: %+v, want ready at %s", verdict, test.from)
			}
			if !j.Admit(Call{}, test.from).Admitted {
				t.Error("refused in the next window")
			}
		})
	}
}

func TestRefusedCallsCountWhereTheyDo(t *testing.T) {
	for _, shape := range []Shape{Sliding, TokenBucket} {
		forgiving := Limit{Shape: shape, Amount: 10, Window: time.Second}
		hard := forgiving
		hard.CountRefused = true
		// Hammering at twice the rate for ten seconds.
		for _, test := range []struct {
			limit       Limit
			least, most int
		}{{forgiving, 100, 120}, {hard, 10, 20}} {
			j := judge(t, []Limit{test.limit})
			in := 0
			for i := range 200 {
				in += admitted(j, 1, noon.Add(time.Duration(i)*50*time.Millisecond))
			}
			if in < test.least || in > test.most {
				t.Errorf("%s, refusals count %v: %d let in, want %d to %d", shape, test.limit.CountRefused, in, test.least, test.most)
			}
		}
	}
}

func TestACallRefusedByOneLimitIsNotTakenFromAnother(t *testing.T) {
	j := judge(t, []Limit{
		{Name: "second", Shape: Fixed, Amount: 2, Window: time.Second},
		{Name: "minute", Shape: Fixed, Amount: 5, Window: time.Minute},
	})
	if in := admitted(j, 100, noon) + admitted(j, 100, noon.Add(time.Second)) + admitted(j, 100, noon.Add(2*time.Second)); in != 5 {
		t.Errorf("%d let in, want 5", in)
	}
	verdict := j.Admit(Call{}, noon.Add(2*time.Second))
	if verdict.Limit != "minute" || !verdict.ReadyAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("refused by %s until %s, want the limit that lasts longest", verdict.Limit, verdict.ReadyAt)
	}
}

func TestEntitiesAndOperations(t *testing.T) {
	j := judge(t, []Limit{
		{Name: "entities", Shape: Fixed, Amount: 10, Window: time.Minute, Unit: Entities, Operations: []string{"bulk"}},
		{Name: "calls", Shape: Fixed, Amount: 3, Window: time.Minute},
	})
	for _, step := range []struct {
		call  Call
		limit string // that refuses
	}{
		{Call{"bulk", 6}, ""}, {Call{"bulk", 6}, "entities"}, {Call{"bulk", 4}, ""}, {Call{"single", 99}, ""}, {Call{"single", 1}, "calls"},
	} {
		if got := j.Admit(step.call, noon); got.Limit != step.limit {
			t.Errorf("%+v: refused by %q, want %q", step.call, got.Limit, step.limit)
		}
	}
	if got := j.Admit(Call{"bulk", 11}, noon.Add(time.Hour)); got.Admitted || !got.ReadyAt.IsZero() {
		t.Errorf("more than the limit ever has: %+v", got)
	}
}

func TestBansKeepOutAndEnd(t *testing.T) {
	j := judge(t, []Limit{{Name: "m", Shape: Fixed, Amount: 600, Window: time.Minute}},
		Ban{After: 20, Within: 10 * time.Second, For: 30 * time.Second},
		Ban{After: 2, Within: time.Minute, For: time.Hour, On: []string{"invalid_input"}})
	if in := admitted(j, 619, noon); in != 600 {
		t.Fatalf("%d let in", in)
	}
	if verdict := j.Admit(Call{}, noon); verdict.Banned {
		t.Fatal("banned by the call that brings the ban, before it")
	}
	verdict := j.Admit(Call{}, noon.Add(29*time.Second))
	if !verdict.Banned || !verdict.ReadyAt.Equal(noon.Add(30*time.Second)) {
		t.Errorf("in the ban: %+v", verdict)
	}
	if j.Admit(Call{}, noon.Add(30*time.Second)).Banned {
		t.Error("banned after the ban")
	}
	j.Offend("invalid_input", noon.Add(time.Minute))
	if _, banned := j.Banned(noon.Add(time.Minute)); banned {
		t.Error("banned after one bad input of two")
	}
	j.Offend("invalid_input", noon.Add(90*time.Second))
	if until, banned := j.Banned(noon.Add(2 * time.Minute)); !banned || !until.Equal(noon.Add(90*time.Second+time.Hour)) {
		t.Errorf("banned %v until %s", banned, until)
	}
}

func TestConcurrencyIsNeverExceeded(t *testing.T) {
	j := judge(t, []Limit{{Shape: Concurrency, Amount: 6}})
	var under, most atomic.Int64
	var wait sync.WaitGroup
	for range 1000 {
		wait.Go(func() {
			if !j.Admit(Call{}, noon).Admitted {
				return
			}
			now := under.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			under.Add(-1)
			j.Done(Call{})
		})
	}
	wait.Wait()
	if most.Load() > 6 || most.Load() == 0 {
		t.Errorf("%d at once, want 1 to 6", most.Load())
	}
	if in := admitted(j, 10, noon); in != 6 {
		t.Errorf("%d let in after all have left, want 6", in)
	}
}

func TestStatesTellWhatIsLeft(t *testing.T) {
	j := judge(t, []Limit{
		{Name: "bucket", Shape: TokenBucket, Amount: 10, Burst: 20, Window: time.Second},
		{Name: "minute", Shape: Fixed, Amount: 100, Window: time.Minute},
		{Name: "log", Shape: Sliding, Amount: 30, Window: time.Minute},
		{Name: "under", Shape: Concurrency, Amount: 50},
		{Name: "other", Shape: Fixed, Amount: 1, Window: time.Second, Operations: []string{"other"}},
	})
	admitted(j, 12, noon)
	want := []State{
		{Remaining: 8, ResetAt: noon.Add(1200 * time.Millisecond)},
		{Remaining: 88, ResetAt: noon.Add(time.Minute)},
		{Remaining: 18, ResetAt: noon.Add(time.Minute)},
		{Remaining: 38},
	}
	states := j.States("", noon)
	if len(states) != len(want) {
		t.Fatalf("%d states, want %d", len(states), len(want))
	}
	for i, got := range states {
		if got.Remaining != want[i].Remaining || !got.ResetAt.Equal(want[i].ResetAt) {
			t.Errorf("%s: %d until %s, want %d until %s", got.Name, got.Remaining, got.ResetAt, want[i].Remaining, want[i].ResetAt)
		}
	}
}

func TestACallThatWasOvertakenDoesNotOpenAnOldWindow(t *testing.T) {
	j := judge(t, []Limit{{Shape: Fixed, Amount: 1, Window: time.Minute}})
	in := admitted(j, 1, noon) + admitted(j, 1, noon.Add(-time.Millisecond)) + admitted(j, 1, noon)
	if in != 1 {
		t.Errorf("%d let in, want 1", in)
	}
}

func TestEveryProblemIsReported(t *testing.T) {
	_, err := NewJudge([]Limit{
		{Shape: "hexagon", Amount: -1},
		{Shape: Fixed, Amount: 1},
		{Shape: Day, Amount: 1, Zone: "Mars/Olympus", ResetAt: "25:00", Window: time.Hour},
		{Shape: TokenBucket, Amount: 1, Burst: 1_000_000_000, Window: 24 * time.Hour},
		{Shape: Fixed, Amount: 1, Burst: 5, Window: time.Second, Unit: "pears"},
	}, []Ban{{On: []string{"rudeness"}}})
	if err == nil {
		t.Fatal("accepted")
	}
	problems := err.(interface{ Unwrap() []error }).Unwrap()
	if len(problems) != 13 {
		t.Errorf("%d problems, want 13:\n%v", len(problems), err)
	}
}

func BenchmarkAdmit(b *testing.B) {
	j, err := NewJudge([]Limit{
		{Name: "second", Shape: Fixed, Amount: 1e9, Window: time.Second},
		{Name: "minute", Shape: Sliding, Amount: 1e6, Window: time.Minute},
		{Name: "bucket", Shape: TokenBucket, Amount: 1e6, Window: time.Second},
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	now := noon
	for b.Loop() {
		now = now.Add(time.Microsecond)
		j.Admit(Call{}, now)
	}
}
