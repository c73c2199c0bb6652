package main

import (
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

// Run prints a tag for every line of standard input, where a shell keeps no
// address.
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
		key, err := keyOf(normalizer, string(line))
		if err != nil {
			failed = true
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

// Run names every line whose proof is none, and counts the others.
func (c *auditVerifyCommand) Run(ctx context.Context, terminal terminal) error {
	_, tagger, err := loadTagger(c.Config)
	if err != nil {
		return err
	}
	var good, incomplete, bad int
	verify := func(name string, log io.Reader) error {
		return eachLine(log, func(number int, line []byte, _ bool) error {
			proof, found := privacy.ReadProof(line)
			switch {
			case !found:
			case !tagger.Verify(proof):
				bad++
				fmt.Fprintf(terminal.err, "enrichd: %s:%d: the seal does not fit: the line was changed, or made under another pepper\n", name, number)
			case !proof.Complete():
				incomplete++
			default:
				good++
			}
			return ctx.Err()
		}, func() error { return nil })
	}
	if len(c.Files) == 0 {
		if err := verify("standard input", terminal.in); err != nil {
			return err
		}
	}
	for _, name := range c.Files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		err = verify(name, file)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Fprintf(terminal.out, "%d complete erasures, %d incomplete ones, %d lines whose seal does not fit\n", good, incomplete, bad)
	if bad > 0 {
		return errSomeFailed
	}
	return nil
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
