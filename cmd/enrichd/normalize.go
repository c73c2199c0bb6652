package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/email"
)

// longestJSON is the longest line that normalize reads: a cell of 1 MiB, every
// byte of it escaped. What is longer is refused unread.
const longestJSON = 8 << 20

// normalizeCommand shows what the normalizer makes of cells.
type normalizeCommand struct {
	Files   []string `arg:"" optional:"" name:"file" help:"Files to read; standard input by default."`
	Lines   bool     `help:"Each line is a raw cell instead of JSON with input or input_b64."`
	Profile string   `enum:",none,consumer" default:"" help:"How keys are folded: none or consumer. By default none, or what the configuration file says." placeholder:"NAME"`
	Day     string   `help:"Adds the idempotency key of this UTC day." placeholder:"2006-01-02"`
	Config  string   `short:"c" type:"existingfile" help:"A configuration file whose email section is obeyed." placeholder:"FILE"`
}

// normalizeInput is one line of input.
type normalizeInput struct {
	ID       json.RawMessage `json:"id"`
	Input    *string         `json:"input"`
	InputB64 *string         `json:"input_b64"`
}

// normalizeOutput is one line of output. Key is the key of the caches; an error
// has none.
type normalizeOutput struct {
	ID             json.RawMessage `json:"id,omitempty"`
	Address        string          `json:"address,omitempty"`
	Key            string          `json:"key,omitempty"`
	Error          email.Class     `json:"error,omitempty"`
	Offset         *int            `json:"offset,omitempty"`
	Reason         string          `json:"reason,omitempty"`
	Repairs        []string        `json:"repairs,omitempty"`
	Role           bool            `json:"role"`
	Free           bool            `json:"free"`
	Disposable     bool            `json:"disposable"`
	UnknownTLD     bool            `json:"unknown_tld,omitempty"`
	SMTPUTF8       bool            `json:"smtputf8,omitempty"`
	Suggestion     string          `json:"suggestion,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
}

// Run writes one JSON line for each line it reads, in their order and as soon as
// there is nothing more to read at once.
func (c *normalizeCommand) Run(ctx context.Context, terminal terminal) error {
	normalize, err := c.normalizer()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(terminal.out)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	each := func(number int, line []byte, tooLong bool) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return encoder.Encode(normalize(number, line, tooLong))
	}
	if len(c.Files) == 0 {
		return cmp.Or(eachLine(terminal.in, each, out.Flush), out.Flush())
	}
	for _, name := range c.Files {
		file, err := os.Open(name)
		if err != nil {
			return cmp.Or(out.Flush(), err)
		}
		err = eachLine(file, each, out.Flush)
		_ = file.Close()
		if err != nil {
			return cmp.Or(out.Flush(), fmt.Errorf("%s: %w", name, err))
		}
	}
	return out.Flush()
}

// normalizer makes the function that turns a line into its answer.
func (c *normalizeCommand) normalizer() (func(number int, line []byte, tooLong bool) normalizeOutput, error) {
	var loaded config.Config
	if c.Config != "" {
		var err error
		if loaded, err = config.Load(c.Config); err != nil {
			return nil, err
		}
	}
	if c.Profile != "" {
		loaded.Email.Fold = email.Profile(c.Profile)
	}
	normalizer, err := email.New(loaded.Email)
	if err != nil {
		return nil, err
	}
	var day time.Time
	if c.Day != "" {
		if day, err = time.Parse(time.DateOnly, c.Day); err != nil {
			return nil, fmt.Errorf("--day: %q is not a date such as 2006-01-02", c.Day)
		}
	}
	return func(number int, line []byte, tooLong bool) normalizeOutput {
		id, cell, err := c.readCell(number, line, tooLong)
		var address email.Address
		if err == nil {
			address, err = normalizer.Normalize(cell)
		}
		return describe(id, address, err, day)
	}, nil
}

// readCell takes the raw cell out of a line. A line that is not what it should
// be is an answer too.
func (c *normalizeCommand) readCell(number int, line []byte, tooLong bool) (id json.RawMessage, cell string, err error) {
	if c.Lines {
		id = json.RawMessage(strconv.Itoa(number))
	}
	switch {
	case tooLong:
		return id, "", &email.Error{Class: email.ClassTooLong, Offset: -1, Reason: "the line is too long to be read"}
	case c.Lines:
		return id, string(line), nil
	}
	if number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // as some programs begin a file
	}
	var input normalizeInput
	if err := json.Unmarshal(line, &input); err != nil {
		return nil, "", &email.Error{Class: email.ClassSyntax, Offset: -1, Reason: "the line is not a JSON object with input or input_b64"}
	}
	switch {
	case input.Input != nil && input.InputB64 != nil:
		return input.ID, "", &email.Error{Class: email.ClassSyntax, Offset: -1, Reason: "the line has both input and input_b64"}
	case input.Input != nil:
		return input.ID, *input.Input, nil
	case input.InputB64 != nil:
		raw, err := base64.StdEncoding.DecodeString(*input.InputB64)
		if err != nil {
			return input.ID, "", &email.Error{Class: email.ClassSyntax, Offset: -1, Reason: "input_b64 is not base64"}
		}
		return input.ID, string(raw), nil
	default:
		return input.ID, "", &email.Error{Class: email.ClassSyntax, Offset: -1, Reason: "the line has neither input nor input_b64"}
	}
}

// describe is the answer for an address or the error instead of it.
func describe(id json.RawMessage, address email.Address, err error, day time.Time) normalizeOutput {
	output := normalizeOutput{ID: id}
	if err != nil {
		output.Error, output.Reason = email.ClassSyntax, err.Error()
		var refused *email.Error
		if errors.As(err, &refused) {
			output.Error, output.Reason, output.Suggestion = refused.Class, refused.Reason, refused.Suggestion
			if refused.Offset >= 0 {
				output.Offset = &refused.Offset
			}
		}
		return output
	}
	output.Address, output.Key, output.Repairs = address.Reveal(), address.Key().Reveal(), address.Repairs()
	output.Role, output.Free, output.Disposable, output.SMTPUTF8 = address.Role(), address.Free(), address.Disposable(), address.SMTPUTF8()
	output.UnknownTLD, output.Suggestion = address.UnknownTLD(), address.Suggestion()
	if !day.IsZero() {
		output.IdempotencyKey = email.IdempotencyKey(address, day)
	}
	return output
}

// eachLine calls each with every line, without its line break, counted from 1.
// Of a line longer than longestJSON it gets the beginning. Whenever the reader
// has nothing more at hand it calls idle.
func eachLine(reader io.Reader, each func(number int, line []byte, tooLong bool) error, idle func() error) error {
	lines := lineReader{reader: bufio.NewReaderSize(reader, 64<<10), most: longestJSON}
	for {
		line, ok := lines.next()
		if !ok {
			break
		}
		if err := each(line.number, line.text, line.tooLong); err != nil {
			return err
		}
		if lines.reader.Buffered() == 0 {
			if err := idle(); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.err, io.EOF) {
		return nil
	}
	return lines.err
}
