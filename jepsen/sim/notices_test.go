package sim

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"vigil/cluster/duty"
	"vigil/fsm"
)

// noticeBound is how long a notice may stay undelivered while there is a leader; the
// notifier here fails once in a while, never for long.
const noticeBound = 10 * time.Minute

// pager is who is told of escalations. It keeps a ledger, forgets some calls before it has
// noted them, and some answers after.
type pager struct {
	mu    sync.Mutex
	calls int
	told  map[uint64]int // escalation -> calls that told of it
}

// of gives the pager as the notifier of one run of a server.
func (p *pager) of(w *world, st *stay) *duty.Escalate {
	return &duty.Escalate{Notifiers: []duty.Notifier{{Name: "pager", Send: func(ctx context.Context, _ string,
		body []byte) error {
		nap(ctx, 20*time.Millisecond)
		if ctx.Err() != nil || st.dead.Load() { // the process is gone: nobody was called
			return errors.New("no connection")
		}
		if w.cfg.mutant == losesNotices {
			return nil
		}
		var a duty.Announcement
		if err := json.Unmarshal(body, &a); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls++
		if p.calls%5 == 1 {
			return errors.New("status 503")
		}
		p.told[a.Escalation]++
		for _, x := range a.Also {
			p.told[x.Escalation]++
		}
		if p.calls%5 == 2 {
			return errors.New("no answer in time")
		}
		return nil
	}}}}
}

// judge compares what the servers believe to have told with what was told.
func (p *pager) judge(w *world, st *fsm.View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range st.Escalations(0) {
		w.ledger.count("escalations: " + e.Kind.String())
		for _, d := range e.Notice.Deliveries {
			if d.Done && p.told[uint64(e.ID)] == 0 {
				w.ledger.breach("notice", "escalation %d about %s counts as told and nobody was told", e.ID, e.Subject)
			}
		}
		if age := st.Clock().Sub(e.Notice.At); e.Notice.Pending && age > noticeBound {
			w.ledger.breach("notice", "nobody was told of escalation %d about %s for %v", e.ID, e.Subject, age)
		}
	}
}
