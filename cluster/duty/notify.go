package duty

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Rhythm of notices.
const (
	// noticeLook is how soon a notice is seen at the latest when nobody has told of it.
	noticeLook = 10 * time.Second
	// noteAgain lies between two tries to write what became of a notice, or to begin.
	noteAgain = time.Second
	// noteTries is how often that is tried before the notice is delivered again.
	noteTries = 5
	// noticesAlone are delivered one by one; when more are pending they are gathered, as
	// many as noticesGathered in one call, so that a storm does not become one of calls.
	noticesAlone    = 5
	noticesGathered = 200
	// NotifyTimeout is that of a notifier that names none.
	NotifyTimeout = 10 * time.Second
)

// Notifier brings notices about escalations to somebody.
type Notifier struct {
	Name string // unique among the notifiers of the cluster's servers that mean the same
	// Send delivers a notice, an Announcement as JSON. No error says that whoever was told
	// has taken it. It may be called again with the same id, also by another server: whoever
	// is told must expect that. The text of an error is kept in the replicated state: fixed
	// words, no secret, at most fsm.MaxFailure bytes.
	Send func(ctx context.Context, id string, body []byte) error
	// Timeout of one try; 0: NotifyTimeout.
	Timeout time.Duration
	// Fits tells whether all of it can be told in one call. What does not fit is left to the next. Nil: it can.
	Fits func(a *Announcement) bool
}

// Escalate is what a Duty needs for escalations.
type Escalate struct {
	Notifiers []Notifier // at most fsm.MaxNotifiers, each with a name of its own
	// Cluster names the cluster in the ids of notices; nil: "vigil".
	Cluster func() string
}

// Announcement is what a notifier gets as JSON. It holds names, figures and fixed words,
// never the content of a task or a mail.
type Announcement struct {
	ID         string            `json:"id"`     // of what is told in this call; the same when all of it is told again
	OwnID      string            `json:"own_id"` // of this escalation's notice, whatever is told with it
	Escalation uint64            `json:"escalation"`
	Kind       string            `json:"kind"`
	Subject    string            `json:"subject"`
	Priority   string            `json:"priority"`
	State      string            `json:"state"`
	Reason     string            `json:"reason"`
	Done       string            `json:"done"`
	Commands   []string          `json:"commands"`
	Room       string            `json:"room,omitempty"`
	Agent      string            `json:"agent,omitempty"`
	Life       string            `json:"incarnation,omitempty"`
	Task       uint64            `json:"task,omitempty"`
	Host       string            `json:"host,omitempty"`
	Facts      map[string]string `json:"facts"`
	Count      uint64            `json:"count"`
	FirstAt    time.Time         `json:"first_at"`
	LastAt     time.Time         `json:"last_at"`
	Lasts      bool              `json:"lasts"` // it was still so when this was written
	Open       int               `json:"open"`  // escalations that no human has closed, with this one
	// Also are others that are announced with this call and with no other, the most urgent
	// first: when many are pending they are gathered.
	Also []Other `json:"also,omitempty"`
}

// Other is an escalation that is announced together with another one.
type Other struct {
	ID         string `json:"id"` // of its own notice, as in OwnID
	Escalation uint64 `json:"escalation"`
	Kind       string `json:"kind"`
	Subject    string `json:"subject"`
	Priority   string `json:"priority"`
}

func announcement(s *fsm.View, e *noun.Escalation, id string) *Announcement {
	a := &Announcement{ID: id, OwnID: id, Escalation: uint64(e.ID), Kind: e.Kind.String(), Subject: e.Subject,
		Priority: e.Priority.String(), State: e.State.String(), Reason: e.Reason(), Done: e.Done(),
		Commands: e.Commands(), Room: e.Room, Agent: e.Agent, Task: uint64(e.Task), Host: e.Host,
		Facts: map[string]string{}, Count: e.Count, FirstAt: time.Unix(0, int64(e.FirstWall)).UTC(),
		LastAt: time.Unix(0, int64(e.LastWall)).UTC(), Lasts: s.Lasts(e), Open: s.EscalationCounts().Open}
	if e.Inc != 0 {
		a.Life = e.Inc.String()
	}
	for _, kv := range e.Facts {
		a.Facts[kv.Key] = kv.Value
	}
	return a
}

// notifier is one Notifier of a Duty.
type notifier struct {
	Notifier
	wake   chan struct{}
	effect *effect
}

// SetNotifiers replaces all notifiers, and names those that came and went. A notice that is being delivered is
// delivered again, under the same id, by the notifier that has the name now. It is called by one goroutine at a
// time. After an error all is as it was.
func (d *Duty) SetNotifiers(next []Notifier) (added, removed []string, err error) {
	if len(next) > noun.MaxNotifiers {
		return nil, nil, fmt.Errorf("%d notifiers are too many, at most %d are allowed", len(next), noun.MaxNotifiers)
	}
	before := map[string]*notifier{}
	for _, n := range *d.notifiers.Load() {
		before[n.Name] = n
	}
	seen, list := map[string]bool{}, make([]*notifier, 0, len(next))
	for _, n := range next {
		if n.Name == "" || len(n.Name) > noun.MaxNotifierName || seen[n.Name] || n.Send == nil {
			return nil, nil, fmt.Errorf("notifier %q: it needs a name of its own of at most %d bytes, and a "+
				"way to send", n.Name, noun.MaxNotifierName)
		}
		seen[n.Name] = true
		if n.Timeout == 0 {
			n.Timeout = NotifyTimeout
		}
		one := &notifier{Notifier: n, wake: make(chan struct{}, 1), effect: &effect{duty: "notices", target: n.Name}}
		if old := before[n.Name]; old != nil {
			one.effect = old.effect // its figures go on
		} else {
			added = append(added, n.Name)
		}
		list = append(list, one)
	}
	for _, n := range *d.notifiers.Load() {
		if !seen[n.Name] {
			removed = append(removed, n.Name)
		}
	}
	d.notifiers.Store(&list)
	select {
	case d.renotify <- struct{}{}:
	default:
	}
	return added, removed, nil
}

// Notifiers counts the notifiers. Safe for concurrent use.
func (d *Duty) Notifiers() int { return len(*d.notifiers.Load()) }

func (n *notifier) poke() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// noticesSay is what announcing is for. It is no row of the table: what it does is outside of the
// state and comes before the record, at the pace of whoever is told. So each notifier has a loop of
// its own, and one that hangs delays no other.
const noticesSay = "announces escalations through notifiers"

// escalate delivers notices until ctx, that of the stint, ends.
// Notifiers work beside each other, each delivers one notice at a time.
func (d *Duty) escalate(ctx context.Context) {
	if d.cfg.Escalate == nil {
		return
	}
	for ctx.Err() == nil {
		var all sync.WaitGroup
		inner, stop := context.WithCancel(ctx)
		for _, n := range *d.notifiers.Load() {
			all.Go(func() { d.deliver(inner, n) })
		}
		select {
		case <-ctx.Done():
		case <-d.renotify:
		}
		stop()
		all.Wait()
	}
}

// deliver is the loop of one notifier.
func (d *Duty) deliver(ctx context.Context, n *notifier) {
	look := time.NewTicker(noticeLook)
	defer look.Stop()
	for ctx.Err() == nil {
		if a, notes := d.nextNotice(n); a != nil {
			d.try(ctx, n, a, notes)
			continue
		}
		select {
		case <-ctx.Done():
		case <-n.wake:
		case <-look.C:
		}
	}
}

// noticeID names what is delivered in one call, by the numbers of all notices in it: whoever has seen it has seen all
// of it, and with any other set of notices it is another one.
func noticeID(cluster string, notes []fsm.NoteNotice) string {
	if len(notes) == 1 {
		return ownID(cluster, notes[0].Notice)
	}
	numbers := make([]uint64, len(notes))
	for i := range notes {
		numbers[i] = notes[i].Notice
	}
	slices.Sort(numbers)
	h := sha256.New()
	for _, n := range numbers {
		fmt.Fprintf(h, "%d ", n)
	}
	return fmt.Sprintf("%s-g%x", cluster, h.Sum(nil)[:8])
}

// ownID names one notice.
func ownID(cluster string, number uint64) string { return fmt.Sprintf("%s-%d", cluster, number) }

// nextNotice is what the notifier has to deliver now, and one record about each escalation
// in it, whose failure is left open; nil: nothing.
func (d *Duty) nextNotice(n *notifier) (a *Announcement, notes []fsm.NoteNotice) {
	cluster, names := "vigil", []string{}
	if d.cfg.Escalate.Cluster != nil {
		cluster = d.cfg.Escalate.Cluster()
	}
	for _, other := range *d.notifiers.Load() {
		names = append(names, other.Name)
	}
	d.noticed.looks.Add(1)
	d.cfg.Replica.Read(func(s *fsm.View) {
		list := s.Notices(n.Name)
		if len(list) == 0 {
			return
		}
		if len(list) <= noticesAlone {
			list = list[:1]
		}
		list = list[:min(len(list), noticesGathered)]
		a = announcement(s, list[0], ownID(cluster, list[0].Notice.Number))
		for i, e := range list {
			notes = append(notes, fsm.NoteNotice{Escalation: e.ID, Notice: e.Notice.Number, Notifier: n.Name,
				Notifiers: names})
			if i > 0 {
				a.Also = append(a.Also, Other{ownID(cluster, e.Notice.Number), uint64(e.ID), e.Kind.String(), e.Subject,
					e.Priority.String()})
			}
		}
	})
	if a == nil {
		return nil, nil
	}
	a.ID = noticeID(cluster, notes) // as long as that of any part
	if also := a.Also; n.Fits != nil {
		fit := sort.Search(len(also), func(i int) bool {
			a.Also = also[:i+1]
			return !n.Fits(a)
		})
		a.Also, notes = also[:fit], notes[:fit+1]
		a.ID = noticeID(cluster, notes)
	}
	return a, notes
}

// try delivers a notice once and has the outcome written. When that cannot be written,
// the notice is delivered again, by this leader or the next, with the same id.
func (d *Duty) try(ctx context.Context, n *notifier, a *Announcement, notes []fsm.NoteNotice) {
	body, err := json.Marshal(a)
	if err != nil {
		d.log.Error("a notice cannot be written as JSON", "error", err) // it is made of texts and numbers
		pause(ctx, noticeLook)
		return
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, n.Timeout)
	err = n.Send(limited, a.ID, body)
	cancel()
	n.effect.nanos.Add(int64(time.Since(began)))
	failure := ""
	switch {
	case ctx.Err() != nil && err != nil: // the stint is over: the next leader goes on
		return
	case err != nil:
		n.effect.failed.Add(1)
		failure = clip(err.Error(), noun.MaxFailure)
		d.log.Warn("a notice was not delivered", "notifier", n.Name, "notice", a.ID, "escalation",
			a.Escalation, "kind", a.Kind, "also", len(a.Also), "error", failure)
	default:
		n.effect.done.Add(1)
		d.log.Info("a notice was delivered", "notifier", n.Name, "notice", a.ID, "escalation", a.Escalation,
			"kind", a.Kind, "also", len(a.Also))
	}
	orders := make([]Order, len(notes))
	for i := range notes {
		notes[i].Failure = failure
		orders[i] = Order{Command: notes[i]}
	}
	d.note(ctx, a.ID, orders)
}

// note writes what became of a notice.
func (d *Duty) note(ctx context.Context, id string, orders []Order) {
	for range noteTries {
		outs, err := d.submit(ctx, d.noticed, orders)
		if err == nil {
			for i := range outs {
				// Over or forgotten: a human was faster. Anything else would repeat itself at once.
				if c := outs[i].Code; c != noun.OK && c != noun.Conflict && c != noun.NotFound && c != noun.StaleStint {
					d.log.Warn("what became of a notice was refused", "notice", id, "code", c, "detail", outs[i].Detail)
					pause(ctx, time.Minute)
					return
				}
			}
			return
		}
		if ctx.Err() == nil {
			d.noticed.errors.Add(1)
		}
		d.log.Debug("what became of a notice could not be written", "notice", id, "error", err)
		if !pause(ctx, noteAgain) {
			return
		}
	}
}
