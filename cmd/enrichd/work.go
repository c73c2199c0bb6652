package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// printWork tells a person what waits, failed and is stopped.
func printWork(out io.Writer, work *enrichv1.GetWorkResponse) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "LANE\tSTATE\tLEADS\tOLDEST")
	for _, count := range work.GetLeads() {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", word(count.GetLane(), "LANE_"), word(count.GetState(), "LEAD_STATE_"), count.GetLeads(), instant(count.GetOldest()))
	}
	if len(work.GetDeadLetters()) > 0 {
		fmt.Fprintln(table, "\nGIVEN UP\tREASON\tLETTERS\tOLDEST\tPROVIDER")
	}
	for _, count := range work.GetDeadLetters() {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", count.GetKind(), count.GetReason(), count.GetLetters(), instant(count.GetOldest()), count.GetProvider())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var busy []string
	for _, count := range work.GetJobs() {
		if count.GetJobs() > 0 {
			busy = append(busy, fmt.Sprintf("%d %s of %s", count.GetJobs(), count.GetState(), count.GetLane()))
		}
	}
	if len(busy) > 0 {
		fmt.Fprintln(out, "\nIn the queue:", strings.Join(busy, ", "))
	}
	if len(work.GetStops()) > 0 {
		fmt.Fprintln(out, "\nStopped:")
	}
	for _, stop := range work.GetStops() {
		until := ""
		if stop.GetUntil() != nil {
			until = ", until " + instant(stop.GetUntil())
		}
		fmt.Fprintf(out, "  %s: %s, since %s%s\n", joined(" ", word(stop.GetScope(), "WORK_SCOPE_"), stop.GetName()), stop.GetReason(), instant(stop.GetSince()), until)
	}
	return nil
}

// instant is a time for a person, UTC.
func instant(at *timestamppb.Timestamp) string {
	if at == nil {
		return "-"
	}
	return at.AsTime().UTC().Format(time.DateTime)
}
