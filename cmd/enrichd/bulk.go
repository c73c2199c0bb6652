package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// atOnce is how many leads are under way together.
type atOnce int

// Validate refuses what cannot work, and what no service would thank for.
func (n atOnce) Validate() error {
	if n < 1 || n > 1000 {
		return fmt.Errorf("%d is not from 1 to 1000", n)
	}
	return nil
}

// asker asks the service about one lead.
type asker func(ctx context.Context, lead lead) (*enrichv1.EnrichResponse, error)

// about asks about a lead unless there is nothing to ask.
func (ask asker) about(ctx context.Context, lead lead) result {
	start := time.Now()
	found := result{lead: lead, err: lead.damage}
	if lead.earlier == nil && lead.damage == nil {
		found.response, found.err = ask(ctx, lead)
	}
	found.took = time.Since(start)
	return found
}

// result is what became of one lead.
type result struct {
	lead     lead
	response *enrichv1.EnrichResponse // nil when err or lead.earlier is set
	err      error
	took     time.Duration
}

// enrichAll asks about every lead that next returns until io.EOF, at most
// parallel at once, and hands the results to done in the order of the leads.
// It stops at the first error of next or done; of next once the leads before it
// are done.
func enrichAll(ctx context.Context, next func() (lead, error), ask asker, parallel atOnce, done func(result) error) error {
	if err := parallel.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	// The queue holds the leads under way in their order; its length bounds
	// how many there are.
	queue := make(chan chan result, parallel-1)
	var readErr error
	go func() {
		defer close(queue)
		for ctx.Err() == nil {
			lead, err := next()
			if err != nil {
				readErr = err
				return
			}
			answer := make(chan result, 1)
			select {
			case queue <- answer:
			case <-ctx.Done():
				return
			}
			go func() { answer <- ask.about(ctx, lead) }()
		}
	}()
	for answer := range queue {
		result := <-answer
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := done(result); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !errors.Is(readErr, io.EOF) {
		return readErr
	}
	return nil
}
