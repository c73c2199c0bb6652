package enrich

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// all answers a batch and fails if any request has no answer or two.
func all(t *testing.T, service *Service, requests []Request) ([]Answer, []error) {
	t.Helper()
	answers, errs, times := make([]Answer, len(requests)), make([]error, len(requests)), make([]int, len(requests))
	service.EnrichAll(t.Context(), requests, func(i int, answer Answer, err error) {
		answers[i], errs[i] = answer, err
		times[i]++
	})
	for i, answered := range times {
		if answered != 1 {
			t.Errorf("request %d was answered %d times", i, answered)
		}
	}
	return answers, errs
}

// staff are requests about so many people of one company.
func staff(count int) []Request {
	var requests []Request
	for i := range count {
		requests = append(requests, Request{
			Email:  fmt.Sprintf("person%d@acme.example", i),
			Wanted: []Attribute{"person.title", "company.name"},
			Lane:   Bulk,
		})
	}
	return requests
}

func companyAsks(finder *finder) (count int) {
	finder.mu.Lock()
	defer finder.mu.Unlock()
	for _, ask := range finder.asks {
		if ask.Subject.Kind() == Company {
			count++
		}
	}
	return count
}

func TestABatchAsksOnceForWhatItsRequestsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			return knows(ctx, ask)
		})
		requests := staff(300)
		requests = append(requests, requests[7])
		answers, errs := all(t, service, requests)
		var cost Micros
		for i, answer := range answers {
			if errs[i] != nil || answer.Completeness != Complete {
				t.Fatalf("request %d: %+v, %v", i, answer, errs[i])
			}
			cost += answer.Cost
		}
		if trips := service.Cache.(*memory).trips; trips != 1 {
			t.Errorf("the caches were asked %d times", trips)
		}
		if len(finder.asks) != 301 || companyAsks(finder) != 1 || cost != 301*100 {
			t.Errorf("%d asks, %d of them about the company, costing %d", len(finder.asks), companyAsks(finder), cost)
		}
	})
}

// TestABatchSharesAFailure has the one company fail: no request of the batch
// repeats what failed for another.
func TestABatchSharesAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			if ask.Subject.Kind() == Company {
				return Found{Failed: map[Attribute]string{"company.name": string(Malformed)}, Err: &Error{Kind: Unavailable, Offset: -1}}
			}
			return knows(ctx, ask)
		})
		answers, _ := all(t, service, staff(200))
		for i, answer := range answers {
			if gap := (Gap{Kind: GapFailed, Reason: string(Malformed)}); answer.Completeness != PartlyFound || answer.Gaps["company.name"] != gap {
				t.Fatalf("request %d: %+v", i, answer)
			}
		}
		if companyAsks(finder) != 1 {
			t.Errorf("%d asks about the company", companyAsks(finder))
		}
	})
}

func TestOneBadRequestHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			if ask.Subject.Address().Registrable().String() == "broken.example" {
				panic("a bug")
			}
			return knows(ctx, ask)
		})
		requests := staff(5)
		requests[1].Email = "no address"
		requests[2].Email = "jane@broken.example"
		requests[2].Wanted = []Attribute{"person.title"}
		requests[3].Wanted = []Attribute{"person.shoe_size"}
		_, errs := all(t, service, requests)
		var kinds []ErrorKind
		for _, err := range errs {
			kind := ErrorKind("")
			if err != nil {
				kind = AsError(err).Kind
			}
			kinds = append(kinds, kind)
		}
		if want := []ErrorKind{"", Invalid, Internal, Invalid, ""}; !slices.Equal(kinds, want) {
			t.Errorf("errors = %v, want %v", kinds, want)
		}
	})
}

func TestABatchIsNoWiderThanConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			return knows(ctx, ask)
		})
		service.Apply(Config{BatchWidth: 10})
		begun := time.Now()
		all(t, service, staff(30))
		if took := time.Since(begun); took != 3*time.Second || len(finder.asks) != 31 {
			t.Errorf("30 requests took %s and %d asks", took, len(finder.asks))
		}
	})
}

// TestABatchAnswersWhatIsKnownAtOnce has one request wait for a provider and
// leaves before it answers.
func TestABatchAnswersWhatIsKnownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		requests := staff(3)
		all(t, service, requests[1:])
		finder.find = func(ctx context.Context, ask Ask) Found {
			<-ctx.Done()
			return throttled(time.Second)(ctx, ask)
		}
		ctx, leave := context.WithTimeout(t.Context(), 5*time.Second)
		defer leave()
		var order []int
		begun, known := time.Now(), time.Duration(0)
		service.EnrichAll(ctx, requests, func(i int, _ Answer, err error) {
			order = append(order, i)
			if i > 0 {
				known = time.Since(begun)
			} else if err != nil {
				t.Errorf("the company is known, so the first has a partial answer: %v", err)
			}
		})
		if !slices.Equal(order, []int{1, 2, 0}) || known != 0 {
			t.Errorf("answered in the order %v, what is known after %s", order, known)
		}
		synctest.Wait()
	})
}

// TestEveryRequestObeysTheConfigurationOfItsBeginning applies another one while
// a request waits.
func TestEveryRequestObeysTheConfigurationOfItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			<-ctx.Done()
			return throttled(time.Minute)(ctx, ask)
		})
		service.Apply(Config{RetryBudget: 20 * time.Second})
		begun := time.Now()
		time.AfterFunc(time.Second, func() { service.Apply(Config{RetryBudget: time.Second}) })
		for _, least := range []time.Duration{19 * time.Second, 900 * time.Millisecond} {
			if _, err := service.Enrich(t.Context(), titleOfJane); err == nil || time.Since(begun) < least || time.Since(begun) > least+time.Second {
				t.Errorf("error %v after %s, want one after %s", err, time.Since(begun), least)
			}
			begun = time.Now()
		}
	})
}

// TestEachRequestOfABatchHasItsOwnBudget asks for the same with three budgets at
// vendors that take ten seconds.
func TestEachRequestOfABatchHasItsOwnBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			select {
			case <-time.After(10 * time.Second):
				return knows(ctx, ask)
			case <-ctx.Done():
				return Found{Err: outOfTime(ctx.Err())}
			}
		})
		requests := staff(3)
		for i, budget := range []time.Duration{time.Second, 20 * time.Second, 5 * time.Second} {
			requests[i].Budget = budget
			requests[i].Wanted = []Attribute{"person.title"}
		}
		begun, took := time.Now(), make([]time.Duration, len(requests))
		complete := make([]bool, len(requests))
		service.EnrichAll(t.Context(), requests, func(i int, answer Answer, err error) {
			took[i], complete[i] = time.Since(begun), err == nil && answer.Completeness == Complete
		})
		if took[0] > time.Second || took[2] > 5*time.Second || took[2] < 4*time.Second || took[1] != 10*time.Second {
			t.Errorf("answered after %s", took)
		}
		if want := []bool{false, true, false}; !slices.Equal(complete, want) {
			t.Errorf("complete: %v, want %v", complete, want)
		}
	})
}
