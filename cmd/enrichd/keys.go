package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/enrichd/enrichd/accounts"
)

// keysCommand makes and hashes API keys.
type keysCommand struct {
	New  keysNewCommand  `cmd:"" help:"Make an API key; it is printed once, with the lines for the configuration."`
	Hash keysHashCommand `cmd:"" help:"Read an API key from standard input and print its hash."`
}

// keysNewCommand makes a key. Nothing keeps it.
type keysNewCommand struct {
	Account string `default:"NAME" help:"The account's name in the lines that are printed." placeholder:"NAME"`
	JSON    bool   `name:"json" help:"Print key and hash as JSON."`
}

// newKey is a key as --json prints it.
type newKey struct {
	Key  string `json:"key"`
	Hash string `json:"hash"`
}

// Run prints a new key.
func (c *keysNewCommand) Run(terminal terminal) error {
	if named := (accounts.Config{List: []accounts.Account{{Name: c.Account}}}); c.Account != "NAME" && len(named.Validate()) > 0 {
		return errors.New("--account: is not 1 to 63 lower-case letters, digits, dots, dashes and underscores")
	}
	key := accounts.NewKey()
	hash, err := accounts.HashKey(key)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(terminal.out).Encode(newKey{Key: key, Hash: hash})
	}
	fmt.Fprintln(terminal.err, "The key, for the caller alone. It is not kept and cannot be shown again:")
	fmt.Fprintln(terminal.out, key)
	fmt.Fprintln(terminal.err, "\nFor the configuration, which knows the hash alone; an older key beside it can end with not_after:")
	fmt.Fprintf(terminal.err, "accounts:\n  list:\n    - name: %s\n      keys:\n        - hash: %s\n", c.Account, hash)
	return nil
}

// keysHashCommand hashes a key. It is not an argument, because arguments stand in
// the shell's history and in the list of processes.
type keysHashCommand struct{}

// longestKey is the most that is read of standard input.
const longestKey = 4 << 10

// Run prints the hash of the key on standard input.
func (c *keysHashCommand) Run(terminal terminal) error {
	text, err := io.ReadAll(io.LimitReader(terminal.in, longestKey))
	if err != nil {
		return err
	}
	hash, err := accounts.HashKey(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	fmt.Fprintln(terminal.out, hash)
	return nil
}
