package privacy

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// Place is a store that may know a subject.
type Place struct {
	// Name as the proof has it.
	Name string
	// Erase drops all that the place knows about a subject, on all replicas, and
	// returns how many entries that were, -1 when it does not count. Erasing
	// again does no harm.
	Erase func(ctx context.Context, key email.Key) (dropped int, err error)
}

// Eraser forgets subjects for good. Its fields are set before the first use; it
// is safe for concurrent use.
type Eraser struct {
	Tags         *Tagger
	Suppressions *Suppressions
	// Places in the order in which they are asked.
	Places []Place
	// Audit keeps the proofs; nil: nobody does.
	Audit *Audit
	Log   *slog.Logger
}

// Proof is what an erasure did.
type Proof struct {
	enrich.Erasure
	// Seal is an HMAC over the rest under the configured pepper, in hexadecimal:
	// a proof with a good one was made by this installation and not changed.
	Seal string
}

// The outcomes by which the lines of erasures, and of suppressions that were
// lifted, are told from those of requests.
const (
	outcomeErasure = "erasure"
	outcomeLifted  = "suppression_lifted"
)

// erasureLine is an erasure's line in the audit log.
type erasureLine struct {
	At         time.Time        `json:"at"`
	Outcome    string           `json:"outcome"` // always outcomeErasure
	Subject    string           `json:"subject"`
	Suppressed bool             `json:"suppressed"`
	Dropped    []enrich.Dropped `json:"dropped"`
	Seal       string           `json:"seal"`
}

// Erase puts a subject on the suppression list and then has every place drop it:
// in this order, because an erased person comes back with the next request
// unless suppression is stored first. With a list in Redis there are three
// quarters of a second in between, in which the other replicas read it. When the
// list can keep it nowhere nothing is dropped and the error says so. A place that
// fails does not keep the others from being asked; the proof then is not
// complete, and erasing again asks all once more.
func (e *Eraser) Erase(ctx context.Context, key email.Key) (Proof, error) {
	kept, err := e.Suppressions.Add(ctx, key)
	if err != nil {
		return Proof{}, err
	}
	if kept.InRedis {
		waitUntilRead(ctx)
	}
	proof := Proof{Erasure: enrich.Erasure{Subject: e.Tags.Tag(key).String(), Suppressed: !kept.Pending}}
	for _, place := range e.Places {
		dropped, err := e.ask(ctx, place, key)
		proof.Dropped = append(proof.Dropped, enrich.Dropped{Place: place.Name, Entries: int64(dropped), Done: err == nil})
		if err != nil {
			e.Log.Error("privacy: an erasure is not complete", "subject", proof.Subject, "place", place.Name, "error", err)
		}
	}
	proof.At = time.Now().UTC().Round(time.Microsecond)
	proof.Seal = e.Tags.sealProof(proof.Erasure)
	if e.Audit != nil {
		e.Audit.put(erasureLine{
			At: proof.At, Outcome: outcomeErasure, Subject: proof.Subject, Suppressed: proof.Suppressed, Dropped: slices.Clone(proof.Dropped), Seal: proof.Seal,
		})
	}
	return proof, nil
}

// liftedLine is the line in the audit log of a subject that was taken off the
// list.
type liftedLine struct {
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"` // always outcomeLifted
	Subject string    `json:"subject"`
}

// Lift takes a subject off the suppression list. The error is that of
// [Suppressions.Remove]; the audit log has what holds in spite of it.
func (e *Eraser) Lift(ctx context.Context, key email.Key) (enrich.Lifted, error) {
	kept, err := e.Suppressions.Remove(ctx, key)
	done := enrich.Lifted{Subject: e.Tags.Tag(key).String(), Was: kept.Changed, Everywhere: !kept.Pending}
	if done.Was && e.Audit != nil {
		e.Audit.put(liftedLine{At: time.Now().UTC().Round(time.Microsecond), Outcome: outcomeLifted, Subject: done.Subject})
	}
	if err != nil {
		return enrich.Lifted{}, err
	}
	return done, nil
}

// ask asks one place. One that panics has failed like any other.
func (e *Eraser) ask(ctx context.Context, place Place, key email.Key) (dropped int, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			dropped, err = 0, fmt.Errorf("panic of type %T", caught)
		}
	}()
	if dropped, err = place.Erase(ctx, key); err != nil {
		return 0, err
	}
	return dropped, nil
}

// ReadProof reads a line of the audit log; found is false where it is about no
// erasure. The error says that the line is not as the audit log writes it.
func ReadProof(line []byte) (proof Proof, found bool, err error) {
	line = bytes.TrimSpace(line)
	var any struct {
		At      time.Time `json:"at"`
		Outcome string    `json:"outcome"`
		Seal    string    `json:"seal"`
	}
	switch err := json.Unmarshal(line, &any); {
	case err != nil || any.At.IsZero() || any.Outcome == "":
		return Proof{}, false, errNoLine
	case any.Outcome != outcomeErasure && any.Seal != "":
		return Proof{}, false, errNoLine // only erasures have one
	case any.Outcome != outcomeErasure:
		return Proof{}, false, nil
	}
	var read erasureLine
	if json.Unmarshal(line, &read) != nil {
		return Proof{}, false, errNoLine
	}
	if as, err := json.Marshal(read); err != nil || !bytes.Equal(as, line) {
		return Proof{}, false, errNoLine // something was added that no seal covers
	}
	return Proof{
		Erasure: enrich.Erasure{Subject: read.Subject, At: read.At, Dropped: read.Dropped, Suppressed: read.Suppressed},
		Seal:    read.Seal,
	}, true, nil
}

var errNoLine = errors.New("the line is not as the audit log writes it")

// Verify tells whether a proof was made under the pepper and not changed.
func (t *Tagger) Verify(proof Proof) bool {
	return hmac.Equal([]byte(proof.Seal), []byte(t.sealProof(proof.Erasure)))
}

func (t *Tagger) sealProof(erasure enrich.Erasure) string {
	text, err := json.Marshal(erasure)
	if err != nil {
		return "" // no type in it can fail
	}
	seal := t.seal("erasure " + string(text))
	return hex.EncodeToString(seal[:])
}
