package trial

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/workload"
)

// afterFailure is how long a worker of a closed loop waits after an error, as a
// patient client does.
const afterFailure = 200 * time.Millisecond

// unanswered is the code of a question that had no answer when its budget had
// passed.
const unanswered = "Unanswered"

// late is the code of an answer that came after its budget had passed.
const late = "Late"

// grace is how long after its budget an answer may still be on its way.
const grace = time.Second

// caller plays one traffic.
type caller struct {
	scenario.Traffic

	known knowledge // of the leads; nil: none

	source   workload.Source
	doors    []*door
	recorder *drive.Recorder
	exchange atomic.Int64 // number of the next
	done     atomic.Bool

	mu       sync.Mutex
	points   []drive.Point
	examined judge.Examined
}

// door is a replica as a caller sees it.
type door struct {
	replica *fleet.Replica // nil for a target
	open    func() (drive.Driver, error)

	mu      sync.Mutex
	process *fleet.Process // that driver leads to
	driver  drive.Driver
}

// driverFor returns the way in; after a restart of the replica a new one. nil
// means that the replica is away or about to leave.
func (d *door) driverFor() drive.Driver {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.replica != nil {
		process := d.replica.Current()
		if process.Ended() || process.Leaving() {
			return nil
		}
		if process != d.process && d.driver != nil {
			_ = d.driver.Close()
			d.driver = nil
		}
		d.process = process
	}
	if d.driver == nil {
		opened, err := d.open()
		if err != nil {
			return nil
		}
		d.driver = opened
	}
	return d.driver
}

func (t *trial) startCallers() error {
	oracle, err := t.oracle()
	if err != nil {
		return err
	}
	for _, traffic := range t.Traffic {
		source, facts, err := workload.New(traffic.Name, traffic.Workload)
		if err != nil {
			return fmt.Errorf("%s: %w", traffic.Name, err)
		}
		c := &caller{Traffic: traffic, source: source, recorder: drive.NewRecorder()}
		switch {
		case oracle != nil: // what these vendors know is the truth
			c.known = oracle
		case facts != nil:
			c.known = filed{facts}
		}
		if t.Target != nil {
			service, err := targetFor(traffic.Via, t.Target)
			if err != nil {
				return err
			}
			c.doors = []*door{{open: func() (drive.Driver, error) { return drive.New(traffic.Via, service) }}}
		}
		for i, replica := range t.replicas {
			if !enters(traffic.Replicas, i+1) {
				continue
			}
			c.doors = append(c.doors, &door{replica: replica, open: func() (drive.Driver, error) {
				process := replica.Current()
				return drive.New(traffic.Via, drive.Service{GRPC: process.GRPC, REST: process.REST, Key: t.keys[traffic.Account]})
			}})
		}
		t.callers = append(t.callers, c)
	}
	return nil
}

func enters(replicas []int, n int) bool {
	if len(replicas) == 0 {
		return true
	}
	for _, replica := range replicas {
		if replica == n {
			return true
		}
	}
	return false
}

// ask asks until ctx ends or all leads have been asked for.
func (c *caller) ask(ctx context.Context, began time.Time) {
	defer c.done.Store(true)
	select {
	case <-time.After(time.Until(began.Add(c.From))):
	case <-ctx.Done():
		return
	}
	// What has been asked by Until is waited for until the load ends.
	asking, cancel := context.WithDeadline(ctx, began.Add(c.Until))
	defer cancel()
	calls, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, end)()
	if c.Rate == 0 {
		drive.Closed(asking, c.Workers, func(context.Context, int64) bool {
			return c.one(calls, c.exchange.Add(1)-1, time.Time{})
		})
		return
	}
	// A clump is begun at once, so its exchanges share an intended time.
	clumps := c.Rate / float64(c.Batch*c.Clump)
	drive.Open(asking, clumps, c.Workers, func(_ context.Context, n int64, intended time.Time) bool {
		var clump sync.WaitGroup
		var over atomic.Bool
		for i := range c.Clump {
			clump.Go(func() {
				if !c.one(calls, n*int64(c.Clump)+int64(i), intended) {
					over.Store(true)
				}
			})
		}
		clump.Wait()
		return !over.Load()
	})
}

// one makes the nth exchange. It returns false when there are no leads left.
func (c *caller) one(ctx context.Context, n int64, intended time.Time) bool {
	first := n * int64(c.Batch)
	size := int64(c.Batch)
	if c.Leads > 0 {
		size = min(size, c.Leads-first)
	}
	if size <= 0 {
		return false
	}
	asked := time.Now()
	if intended.IsZero() {
		intended = asked
	}
	questions := make([]drive.Question, size)
	for i := range questions {
		questions[i] = drive.Question{Email: c.source(first + int64(i)), Fields: c.Fields, Lane: c.Lane, Budget: c.Budget, Purpose: c.Purpose}
		c.recorder.Ask(asked.Sub(intended))
	}
	failed := false
	answered := func(i int, answer drive.Answer) {
		now := time.Now()
		if ctx.Err() != nil {
			// The load has ended. What is under way is neither good nor bad yet,
			// but it has waited, and its time may be over.
			c.recorder.Leave(intended, now)
			if now.Sub(asked) <= c.budget()+grace {
				return
			}
			answer = drive.Answer{Code: unanswered}
		} else if answer.OK() && now.Sub(asked) > c.budget()+grace {
			answer = drive.Answer{Code: late}
		}
		failed = failed || !answer.OK()
		c.recorder.Answer(answer, intended, now)
		c.examine(questions[i].Email, answer)
	}
	driver := c.driver(n)
	if driver == nil {
		for i := range questions {
			answered(i, drive.Answer{Code: "Unavailable"})
		}
	} else {
		driver.Ask(ctx, questions, answered)
	}
	if failed && c.Rate == 0 {
		select {
		case <-time.After(afterFailure):
		case <-ctx.Done():
		}
	}
	return true
}

// budget is how long an answer may take.
func (c *caller) budget() time.Duration {
	if c.Budget > 0 {
		return c.Budget
	}
	return enrich.DefaultRetryBudget
}

// examine compares an answer with the truth where that is known.
func (c *caller) examine(email string, answer drive.Answer) {
	if c.known == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	examine(c.known, email, c.Fields, answer, &c.examined)
}

// driver of the nth exchange: replicas in turn, but for those that are away or
// about to leave, as a load balancer does.
func (c *caller) driver(n int64) drive.Driver {
	for i := range c.doors {
		if driver := c.doors[(n+int64(i))%int64(len(c.doors))].driverFor(); driver != nil {
			return driver
		}
	}
	return nil
}

// turn ends a second.
func (c *caller) turn(at int) drive.Point {
	point := c.recorder.Turn(at)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.points = append(c.points, point)
	return point
}

// result of a load that lasted so long.
func (c *caller) result(length time.Duration) judge.Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	lane := c.Lane
	if lane == "" {
		lane = "default"
	}
	tally := c.recorder.Tally()
	return judge.Traffic{
		Name: c.Name, Via: c.Via, Lane: lane, Account: c.Account,
		Tally: tally, NeverAsked: neverAsked(c.Traffic, length, tally.Asked), Points: c.points, Examined: c.examined,
	}
}

// neverAsked is how many leads fewer than its rate demands a traffic asked for in
// a load of that length: who could not ask knows nothing of the answers. Next to
// nothing is 0.
func neverAsked(t scenario.Traffic, length time.Duration, asked int64) int64 {
	wanted := int64(math.Round(t.Rate * max((min(t.Until, length)-t.From).Seconds(), 0)))
	if t.Leads > 0 {
		wanted = min(wanted, t.Leads)
	}
	// Leads of one moment begin together, and a last moment may be missing.
	step := int64(t.Batch * t.Clump)
	if asked >= wanted-step-wanted/100 {
		return 0
	}
	return wanted - asked
}

func (c *caller) close() {
	for _, door := range c.doors {
		door.mu.Lock()
		if door.driver != nil {
			_ = door.driver.Close()
		}
		door.mu.Unlock()
	}
}
