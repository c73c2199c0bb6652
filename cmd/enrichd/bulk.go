package main

import (
	"context"
	"errors"
	"io"
	"time"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// result is what became of one lead.
type result struct {
	lead     lead
	response *enrichv1.EnrichResponse // nil when err is set
	err      error
	took     time.Duration
}

// enrichAll asks about every lead that next returns until io.EOF, at most
// parallel at once, and hands the results to done in the order of the leads.
// It stops at the first error of next or done.
func enrichAll(ctx context.Context, next func() (lead, error), ask func(context.Context, string) (*enrichv1.EnrichResponse, error), parallel int, done func(result) error) error {
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
			go func() {
				start := time.Now()
				response, err := ask(ctx, lead.email)
				answer <- result{lead: lead, response: response, err: err, took: time.Since(start)}
			}()
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
