package fakevendor

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// outcomes lists what a vendor's calls meant, in order.
func (c *client) outcomes(vendor string) string {
	var words []string
	for _, entry := range c.server.Ledger(vendor, 0, 100) {
		words = append(words, string(entry.Outcome))
	}
	return strings.Join(words, " ")
}

func TestDropcontactSubmitsAndPolls(t *testing.T) {
	v := all("")
	v.Data.Pending = Pending{For: 40 * time.Second, MinPoll: 20 * time.Second}
	bubble(t, only("dropcontact", v), func(t *testing.T, c *client) {
		const key = "X-Access-Token: k"
		submitted := c.do("dropcontact", `POST /v1/enrich/all {"data":[{"email":"`+ada+`"},{"website":"blue-river.example"}],"language":"en"}`, key)
		id, _ := submitted.json(t, "request_id").(string)
		poll := func() reply { return c.do("dropcontact", "GET /v1/enrich/all/"+id, key) }

		running := poll()
		if running.json(t, "success") != false || !strings.Contains(running.body, "30 seconds") {
			t.Errorf("running: %s", running.body)
		}
		if unknown := c.do("dropcontact", "GET /v1/enrich/all/nothing", key); unknown.body != running.body {
			t.Errorf("an unknown job answers %s, another one %s", unknown.body, running.body)
		}
		if soon := poll(); soon.status != 429 {
			t.Errorf("polled too soon: %d", soon.status)
		}
		time.Sleep(time.Minute)
		done := poll()
		for path, want := range map[string]any{
			"success": true, "data.0.full_name": "Ada North", "data.0.email.1.qualification": "nominative@pro",
			"data.0.website": "www.blue-river.example", "data.1.company": "Blue River", "data.1.email": nil,
		} {
			if got := done.json(t, path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
		if got := c.outcomes("dropcontact"); got != "pending pending pending rate_limited hit" {
			t.Errorf("booked %s", got)
		}
		if got := c.server.Summary("dropcontact"); got.Credits != 1 || got.Entities != 6 {
			t.Errorf("%v credits for %d entities: the address sent is kept, the company given back", got.Credits, got.Entities)
		}
		poll()
		if got := c.server.Summary("dropcontact").Credits; got != 1 {
			t.Errorf("%v credits after another poll", got)
		}
	})
}

func TestDropcontactMissAndObjection(t *testing.T) {
	soon := Pending{For: time.Millisecond}
	for _, test := range []struct {
		knows   truth.Knowledge
		outcome enrich.Outcome
		path    string
		want    any
	}{
		{truth.Knowledge{}, enrich.Hit, "data.0.job", "Account Manager"},
		{truth.Knowledge{Partial: 1}, enrich.Partial, "data.0.job", nil},
		{truth.Knowledge{Miss: 1}, enrich.Miss, "data.0.email", nil},
		{truth.Knowledge{Suppressed: 1}, enrich.Suppressed, "data.0.email.0.qualification", "Do_Not_Contact"},
	} {
		v := all("")
		v.Data = &Data{Knowledge: test.knows, Pending: soon}
		bubble(t, only("dropcontact", v), func(t *testing.T, c *client) {
			id, _ := c.do("dropcontact", `POST /v1/enrich/all {"data":[{"email":"`+ada+`"}]}`, "X-Access-Token: k").json(t, "request_id").(string)
			time.Sleep(time.Second)
			answer := c.do("dropcontact", "GET /v1/enrich/all/"+id, "X-Access-Token: k")
			if got := answer.json(t, test.path); got != test.want || c.outcomes("dropcontact") != "pending "+string(test.outcome) {
				t.Errorf("%s: %v in %s, booked %s", test.outcome, got, answer.body, c.outcomes("dropcontact"))
			}
		})
	}
}

func TestFullEnrichStatusAloneDecidesNothing(t *testing.T) {
	v := all("")
	v.Data.Pending = Pending{For: 30 * time.Second}
	v.Account.Credits = new(int64)
	*v.Account.Credits = 1
	bubble(t, only("fullenrich", v), func(t *testing.T, c *client) {
		const key = "Authorization: Bearer k"
		reverse := "/api/v2/contact/reverse/email/bulk"
		id, _ := c.do("fullenrich", "POST "+reverse+` {"name":"x","data":[{"email":"`+ada+`","custom":{"ref":"7"}},{"email":"bo.lake@green-hill.example"}]}`, key).json(t, "enrichment_id").(string)
		poll := func() reply { return c.do("fullenrich", "GET "+reverse+"/"+id, key) }
		for _, want := range []string{"CREATED", "IN_PROGRESS"} {
			if got := poll(); got.status != 200 || got.json(t, "status") != want {
				t.Errorf("answered %d %s, want %s", got.status, got.body, want)
			}
		}
		time.Sleep(time.Minute)
		short := poll()
		if short.status != 402 || short.json(t, "status") != "CREDITS_INSUFFICIENT" {
			t.Errorf("with a credit for one of two: %d %s", short.status, short.body)
		}
		if short.json(t, "data.0.profile.full_name") != "Ada North" || short.json(t, "data.0.custom.ref") != "7" || short.json(t, "data.1.profile") != nil {
			t.Errorf("402 carries what was paid: %s", short.body)
		}
		lost := c.do("fullenrich", "GET "+reverse+"/0b7c", key)
		if lost.status != 404 || lost.json(t, "code") != "error.reverse.email.not_found" {
			t.Errorf("a lost job: %d %s", lost.status, lost.body)
		}
		contact := "/api/v2/contact/enrich/bulk"
		id, _ = c.do("fullenrich", "POST "+contact+` {"name":"x","data":[{"firstname":"Ada","lastname":"North","domain":"blue-river.example"}]}`, key).json(t, "enrichment_id").(string)
		running := c.do("fullenrich", "GET "+contact+"/"+id, key)
		if running.status != 400 || running.json(t, "code") != "error.enrichment.in_progress" {
			t.Errorf("a running contact job: %d %s", running.status, running.body)
		}
		if got := c.outcomes("fullenrich"); got != "pending pending pending quota_exhausted expired pending pending" {
			t.Errorf("booked %s", got)
		}
	})
}

func TestRocketReachSearchesAndIsPolled(t *testing.T) {
	v := all("")
	v.Data.Pending = Pending{Share: 1, For: 4 * time.Second}
	bubble(t, only("rocketreach", v), func(t *testing.T, c *client) {
		const key = "Api-Key: k"
		begun := c.do("rocketreach", "GET /api/v2/person/lookup?email="+ada, key)
		id, _ := begun.json(t, "id").(float64)
		if status := begun.json(t, "status"); begun.status != 200 || status == "complete" {
			t.Errorf("begun: %d %v", begun.status, status)
		}
		poll := "GET /api/v2/person/checkStatus?ids=" + strconv.FormatInt(int64(id), 10)
		if got := c.do("rocketreach", poll, key).json(t, "0.status"); got == "complete" || got == nil {
			t.Errorf("at once: %v", got)
		}
		time.Sleep(10 * time.Second)
		done := c.do("rocketreach", poll, key)
		if done.json(t, "0.status") != "complete" || done.json(t, "0.name") != "Ada North" {
			t.Errorf("done: %s", done.body)
		}
		if lost := c.do("rocketreach", "GET /api/v2/person/checkStatus?ids=1", key); lost.status != 404 {
			t.Errorf("unknown id: %d", lost.status)
		}
		if got := c.outcomes("rocketreach"); got != "pending pending hit expired" {
			t.Errorf("booked %s", got)
		}
		if got := c.server.Summary("rocketreach"); got.Charged != 1 {
			t.Errorf("%d calls billed, want 1", got.Charged)
		}
	})
}

func TestApolloWaterfallIsPolled(t *testing.T) {
	v := all("")
	v.Data.Pending = Pending{For: 10 * time.Second, KeptFor: time.Hour}
	bubble(t, only("apollo", v), func(t *testing.T, c *client) {
		const key = "x-api-key: k"
		begun := c.do("apollo", "POST /api/v1/people/match?reveal_phone_number=true&webhook_url=https://hook.example&email="+ada, key)
		_, after, _ := strings.Cut(begun.body, `"request_id":`)
		id := strings.TrimRight(after, "}\n")
		if begun.json(t, "waterfall.status") != "accepted" || id == "" {
			t.Fatalf("begun: %s", begun.body)
		}
		poll := func(id string) reply { return c.do("apollo", "GET /api/v1/webhook_result/"+id, key) }
		if got := poll(id); got.status != 404 || got.json(t, "error_code") != "result_pending" || got.json(t, "retry_after_seconds") != 10.0 {
			t.Errorf("running: %d %s", got.status, got.body)
		}
		time.Sleep(time.Minute)
		if got := poll(id); got.status != 200 || got.json(t, "people.0.phone_numbers.0.sanitized_number") == nil {
			t.Errorf("done: %d %s", got.status, got.body)
		}
		time.Sleep(2 * time.Hour)
		for id, want := range map[string]string{id: "request_id_expired", "7": "request_id_unknown", "x": "invalid_request_id"} {
			if got := poll(id); got.json(t, "error_code") != want {
				t.Errorf("%s: %d %s, want %s", id, got.status, got.body, want)
			}
		}
		if got := c.server.Summary("apollo").Credits; got != 9 {
			t.Errorf("%v credits billed, want 1 for the person and 8 for the mobile", got)
		}
	})
}

func TestClearbitQueuesAndBillsOnce(t *testing.T) {
	v := all("")
	v.Data.Pending = Pending{Share: 1, For: time.Minute}
	bubble(t, only("clearbit", v), func(t *testing.T, c *client) {
		find := func() reply { return c.do("clearbit", "GET /v2/people/find?email="+ada, "Authorization: Bearer k") }
		if got := find(); got.status != 202 || got.json(t, "error.type") != "queued" {
			t.Errorf("queued: %d %s", got.status, got.body)
		}
		time.Sleep(2 * time.Minute)
		if got := find(); got.status != 200 {
			t.Errorf("done: %d", got.status)
		}
		if got := c.server.Summary("clearbit"); got.Charged != 1 || got.Duplicates != 0 {
			t.Errorf("billed %+v", got)
		}
	})
}

func TestJobsThatNeverEnd(t *testing.T) {
	v := all("")
	v.Data.Pending = Pending{Never: true}
	bubble(t, only("hunter", v), func(t *testing.T, c *client) {
		for range 3 {
			time.Sleep(24 * time.Hour)
			if got := c.do("hunter", "GET /v2/email-verifier?api_key=k&email="+ada, ""); got.status != 202 {
				t.Errorf("answered %d", got.status)
			}
		}
	})
}

func TestALookUpBeginsAgainWhenItsAnswerIsForgotten(t *testing.T) {
	v := all("hunter")
	v.Data.Pending = Pending{Share: 1, For: time.Second, KeptFor: time.Minute}
	bubble(t, only("hunter", v), func(t *testing.T, c *client) {
		for _, step := range []struct {
			after  time.Duration
			status int
		}{{0, 202}, {2 * time.Second, 200}, {2 * time.Minute, 202}, {2 * time.Second, 200}} {
			time.Sleep(step.after)
			if got := c.do("hunter", "GET /v2/email-verifier?api_key=k&email="+ada, ""); got.status != step.status {
				t.Errorf("%s later: %d, want %d", step.after, got.status, step.status)
			}
		}
	})
}
