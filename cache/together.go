package cache

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// mostTogether bounds the commands of one pipeline, lest the last holds up the
	// first. A single request may have more.
	mostTogether = 64
	// mostPipelines is how many pipelines of one client are under way at once.
	mostPipelines = 4
)

// together is a client that sends the commands of requests which come at the same
// time in one pipeline: the system calls and the wake-ups that an exchange costs,
// most of its price, are paid once for all of them. A command that comes alone
// goes at once. It is safe for concurrent use.
type together struct {
	redis.UniversalClient
	patience time.Duration // of one pipeline, and of who waits for one

	mu        sync.Mutex
	waiting   []*errand
	gathering bool // a goroutine is about to send what waits
	pipelines int  // goroutines that send
	crowded   bool // others came along with who was sent for last
	running   sync.WaitGroup
	// soon ends with the patience of who came since begun; end ends it sooner.
	soon  context.Context
	begun time.Time
	end   context.CancelFunc
}

// errand is what somebody waits for: the commands of one request.
type errand struct {
	commands []redis.Cmder
	done     chan struct{} // closed when each has its answer
}

// EvalSha runs a script that the server knows.
func (c *together) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.eval(ctx, "evalsha", sha1, keys, args)
}

// Eval runs a script that the server has lost.
func (c *together) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.eval(ctx, "eval", script, keys, args)
}

// eval runs a script. A probe's goes alone: the others would not pass the breaker
// with it.
func (c *together) eval(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, name, script, len(keys))
	for i := range keys {
		words = append(words, &keys[i]) // a string would be copied to the heap
	}
	command := redis.NewCmd(ctx, append(words, args...)...)
	command.SetFirstKeyPos(3)
	if ctx.Value(probing{}) != nil {
		_ = c.Process(ctx, command)
		return command
	}
	if err := c.send(ctx, command); err != nil {
		command = redis.NewCmd(ctx)
		command.SetErr(err)
	}
	return command
}

// Close ends the client and returns when nothing is under way any more.
func (c *together) Close() error {
	err := c.UniversalClient.Close()
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		c.end()
	}
	return err
}

// send waits until each of the commands has its answer, which may be an error, for
// as long as the client is patient. When that or ctx ends before, the error is the
// context's, and the commands belong to the pipeline: they must not be looked at.
func (c *together) send(ctx context.Context, commands ...redis.Cmder) error {
	e := &errand{commands: commands, done: make(chan struct{})}
	c.mu.Lock()
	soon := c.patiently()
	c.waiting = append(c.waiting, e)
	leads := c.patient(ctx) && c.claim()
	if !leads {
		c.begin()
	}
	c.mu.Unlock()
	if leads {
		c.lead()
	}
	select {
	case <-e.done:
		return nil
	default:
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-soon.Done():
		return soon.Err()
	}
}

// patiently returns a context that ends with the patience of who comes now, or up
// to a tenth of it sooner: a timer for each would cost as much as a command. The
// caller holds the lock.
func (c *together) patiently() context.Context {
	if now := time.Now(); c.soon == nil || now.Sub(c.begun) > c.patience/10 {
		c.soon, c.end = context.WithTimeout(context.Background(), c.patience)
		c.begun = now
	}
	return c.soon
}

// patient tells whether ctx leaves a caller the time of a pipeline, or nearly.
func (c *together) patient(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > c.patience*9/10
}

// claim is true for who is to send what waits. The caller holds the lock.
func (c *together) claim() bool {
	if len(c.waiting) == 0 || c.gathering || c.pipelines == mostPipelines {
		return false
	}
	c.gathering = true
	c.pipelines++
	return true
}

// begin has what waits sent, unless somebody is about to. The caller holds the
// lock.
func (c *together) begin() {
	if c.claim() {
		c.running.Go(c.pipeline)
	}
}

// lead sends what waits from the goroutine of a caller, which spares who comes
// alone the wake-ups of another.
func (c *together) lead() {
	c.exchange(c.take())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pipelines--
	c.begin()
}

// pipeline sends what waits until nothing does.
func (c *together) pipeline() {
	for again := true; again; again = c.goOn() {
		c.exchange(c.take())
	}
}

// take returns what waits, with what comes along from others who can run now, and
// the context of its pipeline. Who is alone does not let others run: where a
// processor is idle that wakes it, which costs half of an exchange.
func (c *together) take() (context.Context, []*errand) {
	c.mu.Lock()
	crowded := c.crowded || c.pipelines > 1
	c.mu.Unlock()
	if crowded {
		runtime.Gosched()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, commands := 0, 0
	for n < len(c.waiting) && (n == 0 || commands+len(c.waiting[n].commands) <= mostTogether) {
		commands += len(c.waiting[n].commands)
		n++
	}
	taken := c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	c.gathering = false
	c.crowded = n > 1 || len(c.waiting) > 0 || c.pipelines > 1
	c.begin()
	return onBehalf(c.patiently(), n), taken
}

func (c *together) goOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 || c.gathering {
		c.pipelines--
		return false
	}
	c.gathering = true
	return true
}

// exchange sends commands and waits for their answers. Every command has an answer
// or an error of its own then.
func (c *together) exchange(ctx context.Context, errands []*errand) {
	if len(errands) == 1 && len(errands[0].commands) == 1 {
		_ = c.Process(ctx, errands[0].commands[0])
	} else {
		pipe := c.Pipeline()
		for _, e := range errands {
			for _, command := range e.commands {
				_ = pipe.Process(ctx, command) // only queues it
			}
		}
		_, _ = pipe.Exec(ctx)
	}
	for _, e := range errands {
		close(e.done)
	}
}
