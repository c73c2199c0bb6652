package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// deadlettersCommand works with the inbox of failed work of a running service.
type deadlettersCommand struct {
	List    deadlettersListCommand    `cmd:"" help:"List dead letters, oldest first."`
	Show    deadlettersShowCommand    `cmd:"" help:"Show a dead letter."`
	Replay  deadlettersReplayCommand  `cmd:"" help:"Put the work of dead letters into the queue again."`
	Compare deadlettersCompareCommand `cmd:"" help:"Enrich a lead again, at the vendors' price, and compare with the stored answer."`
	Resolve deadlettersResolveCommand `cmd:"" help:"Close a dead letter without repeating its work."`
}

// letterFlags choose dead letters.
type letterFlags struct {
	Kind     string `enum:"lead,delivery," default:"" help:"Only those of a lead or a delivery." placeholder:"KIND"`
	Reason   string `help:"Only those with this reason." placeholder:"WORD"`
	Account  string `help:"Only those of an account." placeholder:"NAME"`
	Provider string `help:"Only those where this provider was asked last." placeholder:"NAME"`
}

func (f letterFlags) filter() *enrichv1.DeadLetterFilter {
	return &enrichv1.DeadLetterFilter{Kind: f.Kind, Reason: f.Reason, Account: f.Account, Provider: f.Provider}
}

// deadlettersListCommand lists them.
type deadlettersListCommand struct {
	operatorFlags
	letterFlags
	Most  int32  `default:"100" help:"The most letters to list."`
	After string `help:"List those after the letter of this id." placeholder:"ID"`
}

// Run lists them, and beside the list counts all that match.
func (c *deadlettersListCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		found, err := of.admin.ListDeadLetters(ctx, &enrichv1.ListDeadLettersRequest{Filter: c.filter(), PageSize: c.Most, PageToken: c.After})
		if err != nil {
			return err
		}
		for _, count := range found.GetCounts() {
			fmt.Fprintf(terminal.err, "%d %s %s %s\n", count.GetLetters(), count.GetKind(), count.GetReason(), count.GetProvider())
		}
		return printRows(terminal.out, c.JSON, "ID\tKIND\tACCOUNT\tREASON\tPROVIDER\tATTEMPTS\tREMEDY", found.GetDeadLetters(), func(letter *enrichv1.DeadLetter) []string {
			return []string{letter.GetId(), letter.GetKind(), letter.GetAccount(), letter.GetReason(), letter.GetProvider(), fmt.Sprint(letter.GetAttempts()), letter.GetRemedy()}
		})
	})
}

// deadlettersShowCommand shows one.
type deadlettersShowCommand struct {
	operatorFlags
	ID string `arg:"" help:"The dead letter's id."`
}

// Run prints it.
func (c *deadlettersShowCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		letter, err := of.admin.GetDeadLetter(ctx, &enrichv1.GetDeadLetterRequest{Id: c.ID})
		if err != nil {
			return err
		}
		return printMessage(terminal.out, letter, c.JSON)
	})
}

// deadlettersReplayCommand repeats the work of some.
type deadlettersReplayCommand struct {
	operatorFlags
	letterFlags
	IDs    []string `arg:"" optional:"" name:"id" help:"Dead letters by their ids; or choose them with flags."`
	All    bool     `help:"All that are open."`
	DryRun bool     `help:"Only tell what would be done."`
	Rate   float64  `help:"The most letters a second."`
	Lane   string   `enum:"interactive,standard,bulk," default:"" help:"The lane of replayed leads; their own by default." placeholder:"LANE"`
	Note   string   `help:"Kept with the letters."`
}

// Run replays them. Some that are refused make the command fail.
func (c *deadlettersReplayCommand) Run(ctx context.Context, terminal terminal) error {
	request := &enrichv1.ReplayDeadLettersRequest{Ids: c.IDs, DryRun: c.DryRun, Rate: c.Rate, Note: c.Note,
		Lane: enrichv1.Lane(enrichv1.Lane_value["LANE_"+strings.ToUpper(c.Lane)])}
	chosen := c.letterFlags != (letterFlags{})
	switch {
	case len(c.IDs) > 0 && (c.All || chosen), c.All && chosen, len(c.IDs) == 0 && !c.All && !chosen:
		return errors.New("name dead letters, or choose them with flags, or all with --all")
	case len(c.IDs) == 0:
		request.Filter = c.filter()
	}
	refused := int64(0)
	err := c.ask(ctx, func(ctx context.Context, of services) error {
		done, err := of.admin.ReplayDeadLetters(ctx, request)
		if err != nil {
			return err
		}
		refused = done.GetRefused()
		return c.print(terminal.out, done)
	})
	return errors.Join(err, someFailed(int(refused)))
}

// print tells how many were replayed, or would be, and which were not. The
// numbers stand there when they are 0 too.
func (c *deadlettersReplayCommand) print(out io.Writer, done *enrichv1.ReplayDeadLettersResponse) error {
	if c.JSON {
		text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(done)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
		}
		return err
	}
	what := "replayed"
	if c.DryRun {
		what = "to be replayed"
	}
	if _, err := fmt.Fprintf(out, "%d %s, %d refused\n", done.GetReplayed(), what, done.GetRefused()); err != nil || len(done.GetRefusals()) == 0 {
		return err
	}
	return printRows(out, false, "ID\tREASON\tTARGET", done.GetRefusals(), func(refusal *enrichv1.ReplayRefusal) []string {
		return []string{refusal.GetId(), refusal.GetReason(), refusal.GetTarget()}
	})
}

// deadlettersCompareCommand compares a control answer with the stored one.
type deadlettersCompareCommand struct {
	operatorFlags
	Lead string `arg:"" help:"The lead's id."`
}

// Run prints both side by side.
func (c *deadlettersCompareCommand) Run(ctx context.Context, terminal terminal) error {
	side := func(side *enrichv1.DifferenceSide) string {
		if side.GetValue() == nil {
			return joined(" ", "-", side.GetGap())
		}
		if number, is := side.GetValue().GetKind().(*structpb.Value_NumberValue); is {
			return strconv.FormatFloat(number.NumberValue, 'f', -1, 64) + " (" + side.GetProvider() + ")"
		}
		return clipped(fmt.Sprint(side.GetValue().AsInterface()), 40) + " (" + side.GetProvider() + ")"
	}
	return c.ask(ctx, func(ctx context.Context, of services) error {
		compared, err := of.admin.CompareLead(ctx, &enrichv1.CompareLeadRequest{Id: c.Lead})
		if err != nil {
			return err
		}
		return printRows(terminal.out, c.JSON, "ATTRIBUTE\tSAME\tSTORED\tCONTROL", compared.GetAttributes(), func(each *enrichv1.Difference) []string {
			return []string{each.GetAttribute(), fmt.Sprint(each.GetSame()), side(each.GetStored()), side(each.GetControl())}
		})
	})
}

// deadlettersResolveCommand closes one.
type deadlettersResolveCommand struct {
	operatorFlags
	ID   string `arg:"" help:"The dead letter's id."`
	Note string `help:"Kept with the letter."`
}

// Run closes it.
func (c *deadlettersResolveCommand) Run(ctx context.Context, terminal terminal) error {
	return c.ask(ctx, func(ctx context.Context, of services) error {
		if _, err := of.admin.ResolveDeadLetter(ctx, &enrichv1.ResolveDeadLetterRequest{Id: c.ID, Note: c.Note}); err != nil {
			return err
		}
		return c.printDone(terminal.out, "resolved", c.ID)
	})
}
