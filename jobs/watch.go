package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river/riverdriver"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// watched is River's driver with a watch for its listener.
//
// River would ask for jobs in each lane by itself, with a statement that writes;
// as often as leads are to be quick, that takes an idle process a twentieth of a
// core, for SQLite reads the statement's text anew each time. What River would
// have listeners notified of costs a write with each job, so it is not written:
// another process's watch finds the jobs as well.
type watched struct {
	riverdriver.Driver[*sql.Tx]
	watch *watch
}

// SupportsListener tells River to be woken, instead of asking itself.
func (w watched) SupportsListener() bool { return true }

// SupportsListenNotify keeps River from writing notifications.
func (w watched) SupportsListenNotify() bool { return false }

// GetListener returns the watch.
func (w watched) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener { return w.watch }

// River's topics, whose messages it offers without promise.
const (
	topicReady   = "river_insert"
	topicControl = "river_control"
)

// lookWithin bounds one look: where one hangs, the next may not.
const lookWithin = time.Second

// watch is a River listener that looks which lanes have jobs that may run, all
// lanes with one question, and tells River of these. What it misses is found by
// River's own polls.
type watch struct {
	store    *ledger.Store
	question string
	within   time.Duration   // bounds a look
	works    context.Context // until stop
	stop     context.CancelFunc
	told     chan struct{} // holds a token when there is more to tell
	looked   time.Time     // of the one who waits: River has one

	mu    sync.Mutex
	tells []*riverdriver.Notification
}

func newWatch(store *ledger.Store) *watch {
	now := "now()" // River goes by the clock of the database as well
	if store.IsSQLite() {
		now = "datetime('now', 'subsec')"
	}
	each := make([]string, len(Lanes))
	for i, lane := range Lanes {
		each[i] = fmt.Sprintf(`EXISTS (SELECT 1 FROM river_job WHERE state = 'available' AND queue = '%s' AND scheduled_at <= %s)`, lane, now)
	}
	w := &watch{store: store, question: "SELECT " + strings.Join(each, ", "), within: lookWithin, told: make(chan struct{}, 1)}
	w.works, w.stop = context.WithCancel(context.Background())
	return w
}

// WaitForNotification waits until there is something to tell.
func (w *watch) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	for {
		if next := w.next(); next != nil {
			return next, nil
		}
		look := time.NewTimer(time.Until(w.looked.Add(lookInterval)))
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.told:
		case <-look.C:
			w.looked = time.Now()
			w.look()
		}
		look.Stop()
	}
}

func (w *watch) next() *riverdriver.Notification {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.tells) == 0 {
		return nil
	}
	next := w.tells[0]
	w.tells = w.tells[1:]
	return next
}

// tell tells River something.
func (w *watch) tell(topic, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tells = append(w.tells, &riverdriver.Notification{Topic: topic, Payload: message})
	select {
	case w.told <- struct{}{}:
	default:
	}
}

// turn tells that a lane was paused or goes on.
func (w *watch) turn(action string, lane enrich.Lane) {
	w.tell(topicControl, fmt.Sprintf(`{"action": %q, "queue": %q}`, action, lane))
}

// look tells of the lanes that have jobs. An error is met, and reported, by River's
// own polls as well. Only a stop breaks it off: River ends a wait often, and the
// connection would end with it.
func (w *watch) look() {
	ctx, cancel := context.WithTimeout(w.works, w.within)
	defer cancel()
	ready := make([]bool, len(Lanes))
	into := make([]any, len(Lanes))
	for i := range ready {
		into[i] = &ready[i]
	}
	if w.store.Readers().QueryRowContext(ctx, w.question).Scan(into...) != nil {
		return
	}
	for i, lane := range Lanes {
		if ready[i] {
			w.tell(topicReady, fmt.Sprintf(`{"queue": %q}`, lane))
		}
	}
}

// What else River asks of a listener has nothing to do here.

func (w *watch) Connect(context.Context) error          { return nil }
func (w *watch) Close(context.Context) error            { return nil }
func (w *watch) Listen(context.Context, string) error   { return nil }
func (w *watch) Unlisten(context.Context, string) error { return nil }
func (w *watch) Ping(context.Context) error             { return nil }
func (w *watch) Schema() string                         { return "" }
func (w *watch) SetAfterConnectExec(string)             {}
