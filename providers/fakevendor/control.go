package fakevendor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
)

// controlName begins the paths of the control interface.
const controlName = "_control"

// control is the HTTP interface that reads the ledger and changes the vendors.
// Bodies are JSON and read strictly: an unknown or repeated key, a wrong type
// or a value out of its range is refused, and then nothing has changed.
type control struct {
	server *Server
}

func newControl(s *Server) http.Handler {
	c := control{s}
	mux := http.NewServeMux()
	handle := func(pattern string, serve func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { respond(w, r, serve) })
	}
	handle("GET /"+controlName+"/{$}", c.index)
	handle("GET /"+controlName+"/summary", c.summary)
	handle("GET /"+controlName+"/ledger", c.ledger)
	handle("POST /"+controlName+"/reset", c.reset)
	handle("POST /"+controlName+"/truth", c.truth)
	handle("GET /"+controlName+"/vendors/{vendor}", c.settings)
	handle("GET /"+controlName+"/vendors/{vendor}/{section}", c.section)
	handle("PUT /"+controlName+"/vendors/{vendor}/{section}", c.replace)
	handle("PATCH /"+controlName+"/vendors/{vendor}/{section}", c.amend)
	return mux
}

// notFound is an error about something that does not exist.
type notFound struct{ error }

// respond answers with what serve returns, as JSON.
func respond(w http.ResponseWriter, r *http.Request, serve func(*http.Request) (any, error)) {
	status := http.StatusOK
	value, err := serve(r)
	if err != nil {
		status = http.StatusBadRequest
		if errors.As(err, &notFound{}) {
			status = http.StatusNotFound
		}
		value = map[string]string{"error": err.Error()}
	}
	body, err := encode(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// yamlForm is a value whose keys are in yaml tags.
type yamlForm struct{ any }

func encode(value any) ([]byte, error) {
	if form, ok := value.(yamlForm); ok {
		return yaml.MarshalWithOptions(form.any, yaml.JSON())
	}
	return json.Marshal(value)
}

// mostControl is the largest body of a control request.
const mostControl = 1 << 20

// decode reads a JSON body strictly over what value holds already. An empty
// body changes nothing.
func decode(r *http.Request, value any) error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, mostControl))
	if err != nil {
		return fmt.Errorf("the body cannot be read: %w", err)
	}
	if len(body) == 0 {
		return nil
	}
	if !json.Valid(body) {
		return errors.New("the body is not JSON")
	}
	if err := yaml.UnmarshalWithOptions(body, value, yaml.Strict()); err != nil {
		return fmt.Errorf("the body does not fit: %w", err)
	}
	return nil
}

func (c control) index(*http.Request) (any, error) {
	type offer struct {
		Dialect    string   `json:"dialect"`
		Operations []string `json:"operations"`
		Prefix     string   `json:"prefix"`
	}
	offers := map[string]offer{}
	for name, v := range c.server.vendors {
		offers[name] = offer{v.dialect.name, v.dialect.operations(), v.dialect.prefix}
	}
	return map[string]any{"seed": c.server.world.Seed, "vendors": offers}, nil
}

func (c control) summary(*http.Request) (any, error) {
	all := map[string]Summary{}
	for name := range c.server.vendors {
		all[name] = c.server.Summary(name)
	}
	return map[string]any{"vendors": all}, nil
}

// The bounds of a page of the ledger.
const (
	pageEntries = 1000
	mostEntries = 100_000
)

func (c control) ledger(r *http.Request) (any, error) {
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains([]string{"vendor", "after", "limit"}, name) {
			return nil, fmt.Errorf("unknown parameter %q; there are vendor, after and limit", name)
		}
	}
	number := func(name string, otherwise uint64) (uint64, error) {
		if !query.Has(name) {
			return otherwise, nil
		}
		n, err := strconv.ParseUint(query.Get(name), 10, 63)
		if err != nil {
			return 0, fmt.Errorf("%s: %q is not a number from 0", name, query.Get(name))
		}
		return n, nil
	}
	after, errAfter := number("after", 0)
	limit, errLimit := number("limit", pageEntries)
	_, errVendor := c.server.vendorOf(query.Get("vendor"))
	if err := errors.Join(errVendor, errAfter, errLimit); err != nil {
		return nil, err
	}
	entries := c.server.Ledger(query.Get("vendor"), after, int(min(limit, mostEntries)))
	if entries == nil {
		entries = []Entry{}
	}
	if len(entries) > 0 {
		after = entries[len(entries)-1].Seq
	}
	return map[string]any{"entries": entries, "after": after}, nil
}

func (c control) reset(r *http.Request) (any, error) {
	var reset Reset
	if err := decode(r, &reset); err != nil {
		return nil, err
	}
	return map[string]any{}, c.server.Reset(reset)
}

func (c control) truth(r *http.Request) (any, error) {
	var asked struct {
		Subject string `yaml:"subject"`
	}
	if err := decode(r, &asked); err != nil {
		return nil, err
	}
	if asked.Subject == "" {
		return nil, errors.New("subject: an address or a domain is needed")
	}
	return map[string]any{"subject": c.server.SubjectID(asked.Subject), "facts": c.server.Truth(asked.Subject)}, nil
}

func (c control) settings(r *http.Request) (any, error) {
	v, err := c.server.vendorOf(r.PathValue("vendor"))
	if err != nil {
		return nil, notFound{err}
	}
	return yamlForm{v.settings.Load()}, nil
}

func (c control) section(r *http.Request) (any, error) {
	v, err := c.server.vendorOf(r.PathValue("vendor"))
	if err != nil {
		return nil, notFound{err}
	}
	set := v.settings.Load()
	switch name := r.PathValue("section"); name {
	case "account":
		return yamlForm{set.Account}, nil
	case "limits":
		return yamlForm{set.Limits}, nil
	case "data":
		return yamlForm{set.Data}, nil
	case "faults":
		return yamlForm{set.Faults}, nil
	default:
		return nil, notFound{fmt.Errorf("no section %q; there are account, limits, data and faults", name)}
	}
}

// replace puts a new section in place of the old one.
func (c control) replace(r *http.Request) (any, error) {
	if _, err := c.section(r); err != nil {
		return nil, err
	}
	return c.write(r, nil)
}

// amend changes what the body names and leaves the rest of the section.
func (c control) amend(r *http.Request) (any, error) {
	current, err := c.section(r)
	if err != nil {
		return nil, err
	}
	base, err := encode(current)
	if err != nil {
		return nil, err
	}
	return c.write(r, base)
}

// write sets a section to the body over the base, and answers with the
// section as it now is.
func (c control) write(r *http.Request, base []byte) (any, error) {
	s, vendor := c.server, r.PathValue("vendor")
	var err error
	switch r.PathValue("section") {
	case "account":
		err = set(r, base, func(a Account) error { return s.SetAccount(vendor, a) })
	case "limits":
		err = set(r, base, func(l Limits) error { return s.SetLimits(vendor, l) })
	case "data":
		err = set(r, base, func(d Data) error { return s.SetData(vendor, d) })
	case "faults":
		err = set(r, base, func(f Faults) error { return s.SetFaults(vendor, f) })
	}
	if err != nil {
		return nil, err
	}
	return c.section(r)
}

func set[T any](r *http.Request, base []byte, apply func(T) error) error {
	var value T
	if base != nil {
		if err := yaml.Unmarshal(base, &value); err != nil {
			return err
		}
	}
	if err := decode(r, &value); err != nil {
		return err
	}
	return apply(value)
}
