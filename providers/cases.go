package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// ReplayCase is one recorded case: a query, and the vendor's answers to the
// calls that the definition makes for it.
type ReplayCase struct {
	Name       string           `json:"name"`
	Definition string           `json:"definition"`
	Query      ReplayQuery      `json:"query"`
	Now        time.Time        `json:"now"`
	Exchanges  []ReplayExchange `json:"exchanges"`
	// Expect is what should come out, as far as it is told; see
	// [ReplayResult.Differences].
	Expect map[string]json.RawMessage `json:"expect"`

	line    int      // of the file
	unknown []string // keys that no case has
}

// ReplayQuery is what is asked: the vendor's person call with an address, its
// company call with a domain.
type ReplayQuery struct {
	Email  string `json:"email"`
	Domain string `json:"domain"`
	// Fields are the wanted attributes; empty: all that the call supplies of the
	// subject itself. What it knows of a person's company has to be named.
	Fields []enrich.Attribute `json:"fields"`
}

// ReplayExchange is one recorded answer. A Body that is a JSON string is the
// body's text, anything else the body itself.
type ReplayExchange struct {
	Status  int             `json:"status"`
	Headers map[string]any  `json:"headers"`
	Body    json.RawMessage `json:"body"`
}

// ReadCases reads a file of recorded exchanges: an array of cases or one case.
// The error names every case that cannot be read, with its line.
func ReadCases(data []byte) ([]ReplayCase, error) {
	raws, lines, err := splitCases(data)
	if err != nil {
		return nil, fmt.Errorf("exchanges: %w", err)
	}
	var problems []error
	cases := make([]ReplayCase, len(raws))
	for i, raw := range raws {
		if err := cases[i].read(raw); err != nil {
			problems = append(problems, fmt.Errorf("exchanges: line %d: %s: %w", lines[i], cases[i].title(), err))
		}
		cases[i].line = lines[i]
	}
	return cases, errors.Join(problems...)
}

// splitCases parts the cases of a file and finds the line of each.
func splitCases(data []byte) (raws []json.RawMessage, lines []int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	isList := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
	if isList {
		if _, err := decoder.Token(); err != nil {
			return nil, nil, err
		}
	}
	for {
		if isList && !decoder.More() {
			_, err := decoder.Token() // the end of the list
			return raws, lines, lineError(err, data, decoder)
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, nil, lineError(err, data, decoder)
		}
		raws = append(raws, raw)
		lines = append(lines, lineAt(data, decoder.InputOffset()-int64(len(raw))))
		if !isList {
			return raws, lines, nil
		}
	}
}

// lineError adds the line to an error of the decoder.
func lineError(err error, data []byte, decoder *json.Decoder) error {
	if err == nil {
		return nil
	}
	at := decoder.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file breaks off")
	}
	return fmt.Errorf("line %d: %w", lineAt(data, at), err)
}

// lineAt is the line of a place in the file, the first being 1.
func lineAt(data []byte, at int64) int {
	return 1 + bytes.Count(data[:min(at, int64(len(data)))], []byte("\n"))
}

// read reads one case. A name that cannot be read stays "".
func (c *ReplayCase) read(raw json.RawMessage) error {
	type plain ReplayCase // without read
	one := struct {
		plain
		Now *string `json:"now"`
	}{}
	if err := json.Unmarshal(raw, &one); err != nil {
		_ = json.Unmarshal(raw, &struct{ Name *string }{&c.Name}) // for the message
		return err
	}
	*c = ReplayCase(one.plain)
	c.unknown = strangers(raw, caseKeys, "")
	if one.Now == nil {
		return nil
	}
	now, err := time.Parse(time.RFC3339, *one.Now)
	if err != nil {
		return fmt.Errorf("now: %q is not a time such as 2026-01-31T12:00:00Z", *one.Now)
	}
	c.Now = now
	return nil
}

// title names the case in messages.
func (c *ReplayCase) title() string {
	if c.Name == "" {
		return "a case without a name"
	}
	return c.Name
}

// keys are the keys of an object, with those of the objects in them; nil are
// any keys.
type keys map[string]keys

// caseKeys are the keys of a case.
var caseKeys = keys{
	"name": nil, "definition": nil, "now": nil,
	"query":     {"email": nil, "domain": nil, "fields": nil},
	"exchanges": {"status": nil, "headers": nil, "body": nil},
	"expect": {
		"outcome": nil, "facts": nil, "gaps": nil, "drift": nil, "wait_ms": nil, "pause_until": nil,
		"charge": {"micros": nil, "known": nil}, "calls": nil, "unused": nil,
	},
}

// strangers returns the keys that are not known, with their paths.
func strangers(raw json.RawMessage, known keys, path string) []string {
	if known == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var all []string
		for i, element := range list {
			all = append(all, strangers(element, known, fmt.Sprintf("%s[%d]", path, i))...)
		}
		return all
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	var all []string
	for _, key := range sortedKeys(object) {
		full := strings.TrimPrefix(path+"."+key, ".")
		if inner, is := known[key]; is {
			all = append(all, strangers(object[key], inner, full)...)
		} else {
			all = append(all, full)
		}
	}
	return slices.Compact(all)
}
