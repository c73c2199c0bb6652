package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/privacy"
)

// auditCommand reads the audit log.
type auditCommand struct {
	Tag    auditTagCommand    `cmd:"" help:"Print the tags under which the audit log has people and companies."`
	Verify auditVerifyCommand `cmd:"" help:"Check that the proofs of erasures in the audit log were made here and not changed."`
}

// auditTagCommand makes tags.
type auditTagCommand struct {
	Config string `short:"c" required:"" type:"existingfile" help:"The configuration file with the pepper." placeholder:"FILE"`
}

// Run prints a line with a tag for every line of standard input, where a shell
// keeps no address; an empty one for what is empty or cannot be read.
func (c *auditTagCommand) Run(ctx context.Context, terminal terminal) error {
	loaded, tagger, err := loadTagger(c.Config)
	if err != nil {
		return err
	}
	normalizer, err := email.New(loaded.Email)
	if err != nil {
		return err
	}
	failed := false
	err = eachLine(terminal.in, func(number int, line []byte, _ bool) error {
		if len(bytes.TrimSpace(line)) == 0 {
			fmt.Fprintln(terminal.out)
			return ctx.Err()
		}
		key, err := keyOf(normalizer, string(line))
		if err != nil {
			failed = true
			fmt.Fprintln(terminal.out)
			fmt.Fprintf(terminal.err, "enrichd: line %d: %v\n", number, err)
			return ctx.Err()
		}
		fmt.Fprintln(terminal.out, tagger.Tag(key))
		return ctx.Err()
	}, func() error { return nil })
	if err == nil && failed {
		return errSomeFailed
	}
	return err
}

// keyOf is the key of an address or a domain.
func keyOf(normalizer *email.Normalizer, text string) (email.Key, error) {
	if strings.Contains(text, "@") {
		address, err := normalizer.Normalize(text)
		return address.Key(), err
	}
	domain, err := normalizer.NormalizeDomain(text)
	return domain.Key(), err
}

// auditVerifyCommand checks proofs.
type auditVerifyCommand struct {
	Config string   `short:"c" required:"" type:"existingfile" help:"The configuration file with the pepper." placeholder:"FILE"`
	Files  []string `arg:"" optional:"" name:"file" help:"Parts of the audit log; standard input by default."`
}

// Run names the lines that were not made here or were changed, and counts the
// others.
func (c *auditVerifyCommand) Run(ctx context.Context, terminal terminal) error {
	_, tagger, err := loadTagger(c.Config)
	if err != nil {
		return err
	}
	v := verification{tagger: tagger, complaints: terminal.err}
	if len(c.Files) == 0 {
		v.read(ctx, "standard input", terminal.in)
	}
	for _, name := range c.Files {
		file, err := os.Open(name)
		if err != nil {
			v.complain("%v", err)
			continue
		}
		v.read(ctx, name, file)
		_ = file.Close()
	}
	fmt.Fprintf(terminal.out, "%d complete erasures, %d incomplete ones, %d other lines; %d lines that were changed or not made here\n", v.complete, v.incomplete, v.others, v.bad)
	if v.failed {
		return errSomeFailed
	}
	return ctx.Err()
}

// verification is a look through an audit log.
type verification struct {
	tagger                            *privacy.Tagger
	complaints                        io.Writer
	complete, incomplete, others, bad int
	failed                            bool
}

// mostNamed bounds how many bad lines are named.
const mostNamed = 100

func (v *verification) read(ctx context.Context, name string, log io.Reader) {
	err := eachLine(log, func(number int, line []byte, tooLong bool) error {
		if len(bytes.TrimSpace(line)) > 0 {
			v.line(name, number, line, tooLong)
		}
		return ctx.Err()
	}, func() error { return nil })
	if err != nil {
		v.complain("%s: %v", name, err)
	}
}

func (v *verification) line(name string, number int, line []byte, tooLong bool) {
	proof, found, err := privacy.ReadProof(line)
	switch {
	case err != nil || tooLong:
		v.spoilt("%s:%d: the line is not as the audit log writes it", name, number)
	case !found:
		v.others++
	case !v.tagger.Verify(proof):
		v.spoilt("%s:%d: the seal does not fit: the line was changed, or made under another pepper", name, number)
	case !proof.Complete():
		v.incomplete++
	default:
		v.complete++
	}
}

// spoilt counts a bad line and names it, as long as they are few.
func (v *verification) spoilt(format string, args ...any) {
	switch v.bad++; {
	case v.bad <= mostNamed:
		v.complain(format, args...)
	case v.bad == mostNamed+1:
		v.complain("others are counted, not named")
	}
}

func (v *verification) complain(format string, args ...any) {
	v.failed = true
	fmt.Fprintf(v.complaints, "enrichd: "+format+"\n", args...)
}

// loadTagger reads a configuration and makes the tagger of its pepper.
func loadTagger(file string) (config.Config, *privacy.Tagger, error) {
	loaded, err := config.Load(file)
	if err != nil {
		return config.Config{}, nil, err
	}
	if loaded.Privacy.Pepper == "" {
		return config.Config{}, nil, fmt.Errorf("%s: privacy.pepper: is missing: without it every process has a pepper of its own", file)
	}
	return loaded, privacy.NewTagger(loaded.Privacy.Pepper), nil
}
