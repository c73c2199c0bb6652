package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// jobsCommand works with accepted leads on a running service.
type jobsCommand struct {
	Status  jobsStatusCommand  `cmd:"" help:"Count what waits, is under way, ended, and is stopped."`
	List    jobsListCommand    `cmd:"" help:"List accepted leads."`
	Show    jobsShowCommand    `cmd:"" help:"Show a lead: its state, its answer, and what happened to it."`
	Reset   jobsResetCommand   `cmd:"" help:"Take a lead from its worker and have it worked again."`
	Cancel  jobsCancelCommand  `cmd:"" help:"End a lead that has not ended."`
	Retry   jobsRetryCommand   `cmd:"" help:"Work a lead again that has ended, with all its tries."`
	Charges jobsChargesCommand `cmd:"" help:"Print what vendor calls for leads cost, as JSON lines."`
	Pause   jobsPauseCommand   `cmd:"" help:"Stop some work until it is resumed; what is under way is finished."`
	Resume  jobsResumeCommand  `cmd:"" help:"Let work go on."`
}

// operatorFlags say which service is asked, and how its answer is printed.
type operatorFlags struct {
	serviceFlags
	JSON bool `name:"json" help:"Print JSON lines."`
}

// services are a running service's for accepted work.
type services struct {
	leads enrichv1.LeadServiceClient
	admin enrichv1.LeadAdminServiceClient
}

// ask calls the service and explains what it refuses.
func (f operatorFlags) ask(ctx context.Context, do func(context.Context, services) error) error {
	client, err := f.dial()
	if err != nil {
		return err
	}
	defer client.close()
	if err := do(ctx, services{client.leads, enrichv1.NewLeadAdminServiceClient(client.connection)}); err != nil {
		return fmt.Errorf("%s", explain(err))
	}
	return nil
}

// printMessage prints a message as one line of JSON, or for a person on many.
func printMessage(out io.Writer, message proto.Message, oneLine bool) error {
	text, err := protojson.MarshalOptions{Multiline: !oneLine}.Marshal(message)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", text)
	}
	return err
}

// printRows prints messages as JSON lines, or a table of their cells.
func printRows[M proto.Message](out io.Writer, asJSON bool, heading string, messages []M, cells func(M) []string) error {
	if asJSON {
		for _, message := range messages {
			if err := printMessage(out, message, true); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, heading)
	for _, message := range messages {
		fmt.Fprintln(table, strings.Join(cells(message), "\t"))
	}
	return table.Flush()
}

// printDone tells what was done to what.
func (f operatorFlags) printDone(out io.Writer, done string, to ...string) error {
	what := joined(" ", to...)
	if f.JSON {
		return json.NewEncoder(out).Encode(map[string]string{"done": done, "to": what})
	}
	_, err := fmt.Fprintln(out, done, what)
	return err
}

// word is the word of an enum's value: done for LEAD_STATE_DONE.
func word(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}

// jobsStatusCommand counts work.
type jobsStatusCommand struct{ operatorFlags }

// Run prints the counts.
func (c *jobsStatusCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		work, err := of.admin.GetWork(ctx, &enrichv1.GetWorkRequest{})
		if err != nil {
			return err
		}
		if c.JSON {
			return printMessage(terminal.out, work, true)
		}
		return printWork(terminal.out, work)
	})
}

// jobsListCommand lists leads.
type jobsListCommand struct {
	operatorFlags
	State   []string `help:"Only leads in these states: none, processing, done, partial, not_found, error, cancelled." enum:"none,processing,done,partial,not_found,error,cancelled" placeholder:"STATE"`
	Account string   `help:"Only those of an account." placeholder:"NAME"`
	Most    int32    `default:"100" help:"The most leads to list."`
	After   string   `help:"List those after the lead of this id." placeholder:"ID"`
}

// Run lists them.
func (c *jobsListCommand) Run(ctx context.Context, terminal terminal) error {
	request := &enrichv1.ListLeadsRequest{Account: c.Account, PageSize: c.Most, PageToken: c.After}
	for _, state := range c.State {
		request.States = append(request.States, enrichv1.LeadState(enrichv1.LeadState_value["LEAD_STATE_"+strings.ToUpper(state)]))
	}
	return c.ask(ctx, func(ctx context.Context, of services) error {
		found, err := of.leads.ListLeads(ctx, request)
		if err != nil {
			return err
		}
		return printRows(terminal.out, c.JSON, "ID\tACCOUNT\tLANE\tSTATE\tREASON\tATTEMPTS\tCOST", found.GetLeads(), func(lead *enrichv1.Lead) []string {
			return []string{lead.GetId(), lead.GetAccount(), word(lead.GetLane(), "LANE_"), word(lead.GetState(), "LEAD_STATE_"), lead.GetReason(),
				fmt.Sprint(lead.GetAttempts()), dollars(lead.GetCostMicros())}
		})
	})
}

// leadFlags name a lead.
type leadFlags struct {
	operatorFlags
	ID string `arg:"" help:"The lead's id."`
}

// jobsShowCommand shows a lead.
type jobsShowCommand struct{ leadFlags }

// Run prints the lead.
func (c *jobsShowCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		lead, err := of.leads.GetLead(ctx, &enrichv1.GetLeadRequest{Id: c.ID})
		if err != nil {
			return err
		}
		return printMessage(terminal.out, lead, c.JSON)
	})
}

// jobsResetCommand has a lead worked again.
type jobsResetCommand struct{ leadFlags }

// Run resets the lead.
func (c *jobsResetCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		if _, err := of.admin.ResetLead(ctx, &enrichv1.ResetLeadRequest{Id: c.ID}); err != nil {
			return err
		}
		return c.printDone(terminal.out, "reset", c.ID)
	})
}

// jobsCancelCommand ends a lead.
type jobsCancelCommand struct{ leadFlags }

// Run cancels the lead.
func (c *jobsCancelCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		if _, err := of.leads.CancelLead(ctx, &enrichv1.CancelLeadRequest{Id: c.ID}); err != nil {
			return err
		}
		return c.printDone(terminal.out, "cancelled", c.ID)
	})
}

// jobsRetryCommand works a lead again.
type jobsRetryCommand struct{ leadFlags }

// Run has the lead worked.
func (c *jobsRetryCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		if _, err := of.leads.RetryLead(ctx, &enrichv1.RetryLeadRequest{Id: c.ID}); err != nil {
			return err
		}
		return c.printDone(terminal.out, "retried", c.ID)
	})
}

// workFlags name what is stopped.
type workFlags struct {
	operatorFlags
	Scope string `arg:"" enum:"all,lane,account,sink" help:"What: ${enum}."`
	Name  string `arg:"" optional:"" help:"Which lane (interactive, standard, bulk, deliver), account or sink."`
}

func (f workFlags) scope() enrichv1.WorkScope {
	return enrichv1.WorkScope(enrichv1.WorkScope_value["WORK_SCOPE_"+strings.ToUpper(f.Scope)])
}

// jobsPauseCommand stops work.
type jobsPauseCommand struct{ workFlags }

// Run pauses it.
func (c *jobsPauseCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		if _, err := of.admin.PauseWork(ctx, &enrichv1.PauseWorkRequest{Scope: c.scope(), Name: c.Name}); err != nil {
			return err
		}
		return c.printDone(terminal.out, "paused", c.Scope, c.Name)
	})
}

// jobsResumeCommand lets work go on.
type jobsResumeCommand struct{ workFlags }

// Run resumes it.
func (c *jobsResumeCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		if _, err := of.admin.ResumeWork(ctx, &enrichv1.ResumeWorkRequest{Scope: c.scope(), Name: c.Name}); err != nil {
			return err
		}
		return c.printDone(terminal.out, "resumed", c.Scope, c.Name)
	})
}
