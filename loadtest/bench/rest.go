package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/enrichd/enrichd/loadtest/fleet"
)

// restHit is row C3.
func restHit(ctx context.Context, b *bench) (result, error) {
	service, _, err := b.hot(ctx, "", nil)
	if err != nil {
		return result{}, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	b.later(client.CloseIdleConnections)
	length, err := post(ctx, client, service.Current(), 0)
	if err != nil {
		return result{}, err
	}
	floor, err := b.floor(ctx, "rest", "--size", strconv.Itoa(length))
	if err != nil {
		return result{}, err
	}
	ours, bare := overREST(client, service.Current()), overREST(client, floor)
	if err := b.takeTurns(ctx, ours, bare); err != nil {
		return result{}, err
	}
	measured := ours.over(bare)
	measured.detail += fmt.Sprintf("; answer %d bytes", length)
	return measured, nil
}

func overREST(client *http.Client, process *fleet.Process) *measured {
	return &measured{process: process, call: func(ctx context.Context, n int64) error {
		_, err := post(ctx, client, process, n%hotLeads)
		return err
	}}
}

// post asks for a lead and returns the length of the answer.
func post(ctx context.Context, client *http.Client, process *fleet.Process, n int64) (int, error) {
	body := fmt.Appendf(nil, `{"email":%q}`, lead(n))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+process.REST+"/v1/enrich", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", process.Name, response.Status)
	}
	return len(text), err
}
