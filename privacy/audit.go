package privacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

const (
	// batchBytes is how much is encoded before it is written, while more waits.
	batchBytes = 64 << 10
	// longestText is how much of a caller's own words is kept.
	longestText = 200
	// tidyEvery is how often old parts are looked for.
	tidyEvery = time.Hour
)

// Audit is the log of who asked about whom, why, and what came of it: one JSON
// object a line. It never holds an address or a value. Nobody waits for its disk:
// what does not fit into the queue, or cannot be written, is dropped, counted
// and told. It is safe for concurrent use.
type Audit struct {
	tags  *Tagger
	parts *parts
	log   *slog.Logger
	ended chan struct{} // closed when the queue is drained

	mu     sync.RWMutex // held for writing by Close alone
	closed bool
	queue  chan any // an enrich.AuditEntry, or the line of something else

	written, dropped atomic.Int64
	warned           bool // of a failing disk; by the writer alone
	full             atomic.Bool
}

var _ enrich.Auditor = (*Audit)(nil)

// AuditStats counts entries since the log was opened.
type AuditStats struct {
	// Written entries are in the file.
	Written int64
	// Dropped entries were lost to a full queue, a disk that failed, or Close.
	Dropped int64
}

// NewAudit opens the log of the configuration, which must name a file. A folder
// that cannot be written now is told and tried again; only a bad configuration
// is an error. Close ends it.
func NewAudit(config Config, log *slog.Logger) (*Audit, error) {
	if err := errors.Join(config.Validate()...); err != nil {
		return nil, fmt.Errorf("privacy: %w", err)
	}
	if config.Audit.File == "" {
		return nil, errors.New("privacy: audit.file: is missing")
	}
	config = config.WithDefaults()
	a := &Audit{
		tags:  NewTagger(config.Pepper),
		parts: &parts{config: config.Audit},
		log:   log,
		ended: make(chan struct{}),
		queue: make(chan any, config.Audit.Queue),
	}
	a.note(a.parts.open(), 0)
	go a.run()
	return a, nil
}

// Audit takes an entry, which must not change any more, or drops it when the queue
// is full.
func (a *Audit) Audit(entry enrich.AuditEntry) { a.put(entry) }

func (a *Audit) put(entry any) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.closed {
		select {
		case a.queue <- entry:
			return
		default:
		}
	}
	a.dropped.Add(1)
	if !a.full.Swap(true) && !a.closed {
		a.log.Error("privacy: the disk does not keep up, audit entries are dropped", "queue", cap(a.queue))
	}
}

// Stats counts.
func (a *Audit) Stats() AuditStats {
	return AuditStats{Written: a.written.Load(), Dropped: a.dropped.Load()}
}

// Close writes what waits and ends the log. It may be called again.
func (a *Audit) Close() error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.queue)
	}
	a.mu.Unlock()
	<-a.ended
	return a.parts.close()
}

// run writes what comes, several entries at once when they wait.
func (a *Audit) run() {
	defer close(a.ended)
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	a.parts.tidy(time.Now())
	var batch bytes.Buffer
	for {
		select {
		case <-tidy.C:
			a.parts.tidy(time.Now())
		case entry, open := <-a.queue:
			if !open {
				return
			}
			batch.Reset()
			entries := a.encode(&batch, entry)
			for more := true; more && batch.Len() < batchBytes; {
				select {
				case entry, open := <-a.queue:
					if more = open; open {
						entries += a.encode(&batch, entry)
					}
				default:
					more = false
				}
			}
			a.note(a.parts.write(batch.Bytes(), time.Now()), entries)
			a.full.Store(false)
		}
	}
}

// note counts a batch and tells of a disk that fails, once, and of its recovery.
func (a *Audit) note(err error, entries int64) {
	if err == nil {
		a.written.Add(entries)
		if a.warned {
			a.warned = false
			a.log.Info("privacy: the audit log is written again", "dropped", a.dropped.Load())
		}
		return
	}
	a.dropped.Add(entries)
	if !a.warned {
		a.warned = true
		a.log.Error("privacy: the audit log cannot be written, entries are dropped until it can", "error", err)
	}
}

// auditLine is a line of the log.
type auditLine struct {
	At        time.Time         `json:"at"`
	RequestID string            `json:"request_id,omitempty"`
	Account   string            `json:"account"`
	Purpose   string            `json:"purpose,omitempty"`
	Consent   *consentLine      `json:"consent,omitempty"`
	Person    string            `json:"person,omitempty"`
	Company   string            `json:"company,omitempty"`
	Wanted    []string          `json:"wanted,omitempty"`
	Sources   map[string]string `json:"sources,omitempty"`
	Asked     []askedLine       `json:"asked,omitempty"`
	Cost      int64             `json:"cost_micros"`
	Outcome   string            `json:"outcome"`
}

type consentLine struct {
	Basis       string     `json:"basis,omitempty"`
	Source      string     `json:"source,omitempty"`
	CollectedAt *time.Time `json:"collected_at,omitempty"`
}

// askedLine is one vendor call. A charge that nobody knows is left out.
type askedLine struct {
	Provider string `json:"provider"`
	Outcome  string `json:"outcome"`
	Charge   *int64 `json:"charge_micros,omitempty"`
	Shared   bool   `json:"shared,omitempty"`
}

// encode appends the line of an entry and returns 1.
func (a *Audit) encode(to *bytes.Buffer, entry any) int64 {
	line := entry
	if request, ok := entry.(enrich.AuditEntry); ok {
		line = a.line(request)
	}
	text, err := json.Marshal(line)
	if err != nil {
		text = []byte(`{"outcome":"unwritable"}`) // no type above can fail
	}
	to.Write(append(text, '\n'))
	return 1
}

func (a *Audit) line(entry enrich.AuditEntry) auditLine {
	line := auditLine{
		At: entry.At.UTC(), RequestID: clean(entry.RequestID), Account: entry.Account, Purpose: clean(entry.Purpose),
		Cost: int64(entry.Cost), Outcome: entry.Outcome,
	}
	if c := entry.Consent; c != (enrich.Consent{}) {
		line.Consent = &consentLine{Basis: clean(c.Basis), Source: clean(c.Source)}
		if !c.CollectedAt.IsZero() {
			at := c.CollectedAt.UTC()
			line.Consent.CollectedAt = &at
		}
	}
	if !entry.Person.IsZero() {
		line.Person = a.tags.Tag(entry.Person).String()
	}
	if !entry.Company.IsZero() {
		line.Company = a.tags.Tag(entry.Company).String()
	}
	for _, attribute := range entry.Wanted {
		line.Wanted = append(line.Wanted, string(attribute))
	}
	for attribute, source := range entry.Sources {
		if line.Sources == nil {
			line.Sources = make(map[string]string, len(entry.Sources))
		}
		line.Sources[string(attribute)] = source
	}
	for _, attempt := range entry.Asked {
		asked := askedLine{Provider: attempt.Provider, Outcome: string(attempt.Outcome), Shared: attempt.Shared}
		if attempt.Charged.Known {
			charge := int64(attempt.Charged.Micros)
			asked.Charge = &charge
		}
		line.Asked = append(line.Asked, asked)
	}
	return line
}

// clean is what is kept of a caller's own words: nothing that could be an
// address, and not too much.
func clean(text string) string {
	if strings.Contains(text, "@") || strings.Contains(text, "%40") {
		return "[address]"
	}
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "")
	}
	return text
}
