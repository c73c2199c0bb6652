package enrich

import (
	"fmt"
	"testing"

	"github.com/enrichd/enrichd/email"
)

func TestTrialHoldsItsShareOfSubjectsForGood(t *testing.T) {
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const subjects = 2000
	var held [101]int
	other := 0
	for i := range subjects {
		address, err := normalizer.Normalize(fmt.Sprintf("lead%d@acme.example", i))
		if err != nil {
			t.Fatal(err)
		}
		before := false
		for _, percent := range []int{0, 10, 50, 100} {
			account := Account{Plan: "own", Trial: Trial{Plan: "new", Percent: percent}}
			plan := account.About(PersonSubject(address)).Plan
			if again := account.About(PersonSubject(address)).Plan; again != plan {
				t.Fatalf("the plan of lead %d changed from %s to %s", i, plan, again)
			}
			if before && plan != "new" {
				t.Fatalf("lead %d left the trial when it grew to %d %%", i, percent)
			}
			if before = plan == "new"; before {
				held[percent]++
			}
		}
		half := Account{Trial: Trial{Plan: "new", Percent: 50}}
		another := Account{Trial: Trial{Plan: "another", Percent: 50}}
		if (half.About(PersonSubject(address)).Plan == "") == (another.About(PersonSubject(address)).Plan == "") {
			other++
		}
	}
	for percent, want := range map[int]int{0: 0, 10: subjects / 10, 50: subjects / 2, 100: subjects} {
		if got := held[percent]; got < want-subjects/20 || got > want+subjects/20 {
			t.Errorf("a trial of %d %% holds %d of %d subjects", percent, got, subjects)
		}
	}
	if other < subjects*2/5 || other > subjects*3/5 {
		t.Errorf("two trials of half the subjects agree about %d of %d", other, subjects)
	}
}
