package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// handedIn is a file of leads that the service has accepted: it works them off,
// whether or not somebody waits for it.
type handedIn struct {
	client   *client
	imported *enrichv1.Import
	patience time.Duration
	page     []*enrichv1.ImportRow // that were read and not asked for yet
	line     int64                 // of the last row that was read
}

// uploadPart is how much of a file goes into one message.
const uploadPart = 256 << 10

// handIn hands a file in, again after an interruption: the service goes on where
// it was. Nil: the service keeps no leads.
func (c *client) handIn(ctx context.Context, file io.ReadSeeker, options *enrichv1.CreateImportRequest, patience time.Duration) (*handedIn, error) {
	imported, err := patiently(ctx, patience, func() (*enrichv1.Import, error) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		return c.upload(ctx, file, options)
	})
	switch {
	case classOf(err) == "no_store":
		return nil, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, errors.New(explain(err))
	}
	return &handedIn{client: c, imported: imported, patience: patience}, nil
}

func (c *client) upload(ctx context.Context, file io.Reader, options *enrichv1.CreateImportRequest) (*enrichv1.Import, error) {
	stream, err := c.leads.UploadImport(ctx)
	if err != nil {
		return nil, err
	}
	part := make([]byte, uploadPart)
	message := &enrichv1.UploadImportRequest{Import: options}
	for {
		read, err := io.ReadFull(file, part)
		message.Content = part[:read]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return nil, err
		}
		if err := stream.Send(message); errors.Is(err, io.EOF) || last { // an answer that came before tells why
			return stream.CloseAndRecv()
		} else if err != nil {
			return nil, err
		}
		message = &enrichv1.UploadImportRequest{}
	}
}

// classOf is the class that the service says of an error; empty: none.
func classOf(err error) string { return infoOf(err).GetMetadata()["class"] }

// String tells what became of the rows.
func (h *handedIn) String() string {
	return fmt.Sprintf("handed in as %s: %d rows accepted, %d repeated, %d refused", h.imported.GetId(), h.imported.GetAccepted(), h.imported.GetRepeated(), h.imported.GetRefused())
}

// find puts to each lead that next returns what became of its row.
func (h *handedIn) find(ctx context.Context, next func() (lead, error)) func() (lead, error) {
	return func() (lead, error) {
		found, err := next()
		if err != nil || found.damage != nil || found.earlier != nil {
			return found, err
		}
		found.row, err = h.row(ctx, found.line)
		return found, err
	}
}

// row returns the row of a line. Lines are asked for in their order.
func (h *handedIn) row(ctx context.Context, line int64) (*enrichv1.ImportRow, error) {
	for {
		for len(h.page) > 0 && h.page[0].GetLine() <= line {
			first := h.page[0]
			h.page = h.page[1:]
			if first.GetLine() == line {
				return first, nil
			}
		}
		if len(h.page) > 0 {
			return nil, fmt.Errorf("the service has no row of line %d: its program is of another version", line)
		}
		read, err := patiently(ctx, h.patience, func() (*enrichv1.ListImportRowsResponse, error) {
			return h.client.leads.ListImportRows(ctx, &enrichv1.ListImportRowsRequest{Id: h.imported.GetId(), AfterLine: max(h.line, line-1), PageSize: 1000})
		})
		if err != nil {
			return nil, errors.New(explain(err))
		}
		if h.page = read.GetRows(); len(h.page) == 0 {
			return nil, fmt.Errorf("the service has no row of line %d: its program is of another version", line)
		}
		h.line = h.page[len(h.page)-1].GetLine()
	}
}

// The waits between two looks at a lead that is in work.
const (
	firstLook   = 100 * time.Millisecond
	longestLook = 2 * time.Second
)

// wait waits for a lead's end, patience at most.
func (h *handedIn) wait(ctx context.Context, lead lead) (*enrichv1.EnrichResponse, error) {
	if lead.row.GetLead() == "" {
		return nil, refusedRow(lead.row.GetReason())
	}
	giveUp := time.Now().Add(h.patience)
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		known, err := patiently(ctx, h.patience, func() (*enrichv1.Lead, error) {
			return h.client.leads.GetLead(ctx, &enrichv1.GetLeadRequest{Id: lead.row.GetLead()})
		})
		if err != nil {
			return nil, err
		}
		switch known.GetState() {
		case enrichv1.LeadState_LEAD_STATE_NONE, enrichv1.LeadState_LEAD_STATE_PROCESSING:
		case enrichv1.LeadState_LEAD_STATE_ERROR, enrichv1.LeadState_LEAD_STATE_CANCELLED:
			return nil, status.Errorf(codes.Aborted, "lead %s: %s, %s", known.GetId(), word(known.GetState(), "LEAD_STATE_"), known.GetReason())
		default:
			return known.GetAnswer(), nil
		}
		if time.Now().Add(pause).After(giveUp) {
			return nil, status.Errorf(codes.DeadlineExceeded, "lead %s is still in work", known.GetId())
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// refusedRow is why the service did not accept a row.
func refusedRow(reason string) error {
	if reason == enrich.ReasonSuppressed {
		return status.Error(codes.PermissionDenied, "the subject objected")
	}
	return unreadableError(email.Class(reason), "the address cannot be read")
}

// importOptions say how the file is read and what is wanted of its leads.
func (c *enrichCommand) importOptions() *enrichv1.CreateImportRequest {
	options := &enrichv1.CreateImportRequest{Column: c.Column, Lane: enrichv1.Lane(enrichv1.Lane_value["LANE_"+strings.ToUpper(c.Lane)]), Purpose: c.Purpose}
	if len(c.Fields) > 0 {
		options.Fields = &fieldmaskpb.FieldMask{Paths: c.Fields}
	}
	return options
}
