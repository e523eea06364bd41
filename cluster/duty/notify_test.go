package duty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// told is a notifier that keeps what it was told, and fails as long as it is asked to.
type told struct {
	mu    sync.Mutex
	ids   []string
	at    []time.Duration
	last  Announcement
	fail  error
	hang  bool
	began time.Time
}

func (n *told) Send(ctx context.Context, id string, body []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids, n.at = append(n.ids, id), append(n.at, time.Since(n.began))
	if err := json.Unmarshal(body, &n.last); err != nil {
		return err
	}
	if n.hang {
		<-ctx.Done()
		return errors.New("no answer in time")
	}
	return n.fail
}

func (n *told) heard() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.ids)
}

func (n *told) now(fail error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = fail
}

// troubled is a replica with an agent to which urgent mail is sent, and notifiers.
func troubled(t *testing.T, names ...string) (*replica, map[string]*told, Config) {
	r := newReplica(t)
	r.do(room("r", noun.RoleSpec{Name: "x", Replicas: 8}))
	all, cfg := map[string]*told{}, Config{Escalate: &Escalate{Cluster: func() string { return "c1" }}}
	for _, name := range names {
		all[name] = &told{began: time.Now()}
		cfg.Escalate.Notifiers = append(cfg.Escalate.Notifiers, Notifier{Name: name, Send: all[name].Send})
	}
	return r, all, cfg
}

// trouble has the mail to an agent run into its limit: an escalation.
func (r *replica) trouble(to string) {
	r.do(fsm.SendMail{From: "ann", To: to, Subject: "secret", Body: "secret", Priority: noun.MailUrgent})
	r.ticks(2*time.Minute + time.Second)
}

// ticks lets time pass as a cluster does: an entry is written when a timer is due.
func (r *replica) ticks(span time.Duration) {
	for range int(span / time.Second) {
		time.Sleep(time.Second)
		r.mu.Lock()
		r.w.clock = noun.Time(time.Since(r.began))
		if at, ok := r.w.s.NextTimer(); ok && at <= r.w.clock {
			r.wake(r.w.apply().Effects)
		}
		r.mu.Unlock()
		synctest.Wait()
	}
}

func (r *replica) notice(id noun.EscalationID) (n noun.Notice) {
	r.Read(func(s *fsm.View) { n = s.Escalation(id).Notice })
	return n
}

// An escalation is begun and announced at once, with everything that a decision needs and
// nothing of what the mail says.
func TestNoticesAreDeliveredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all, cfg := troubled(t, "hook", "page")
		inStint(t, r, cfg, func(d *Duty) {
			r.trouble("r/x.2")
			for name, n := range all {
				if got := n.heard(); !slices.Equal(got, []string{"c1-1"}) {
					t.Fatalf("%s was told %v", name, got)
				}
			}
			a := all["hook"].last
			if a.ID != "c1-1" || a.Kind != "mail_unacknowledged" || a.Subject != "r/x.2" ||
				a.Priority != "urgent" || !a.Lasts || a.Open != 1 ||
				a.Facts["mail_from"] != "ann" || !slices.Contains(a.Commands, "vigil escalation ack 1") ||
				strings.Contains(fmt.Sprint(a), "secret") {
				t.Errorf("announced as %+v", a)
			}
			if n := r.notice(1); n.Pending || len(n.Deliveries) != 2 {
				t.Errorf("delivered: %+v", n)
			}
			if f := d.Figures().Effects[2:]; len(f) != 2 || f[0].Target != "hook" || f[0].Done != 1 ||
				f[0].Failed != 0 {
				t.Errorf("figures %+v", f)
			}
			r.ticks(time.Hour)
			if got := all["hook"].heard(); len(got) != 1 {
				t.Errorf("told again: %v", got)
			}
		})
	})
}

// A notifier that fails is asked again at growing distances, and neither another notifier
// nor another notice waits for it.
func TestNoticesAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all, cfg := troubled(t, "hook", "page")
		all["hook"].fail = errors.New("status 500")
		inStint(t, r, cfg, func(d *Duty) {
			r.trouble("r/x.1")
			r.ticks(75 * time.Second)
			got := all["hook"].at
			for i, want := range []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second} {
				if len(got) != 4 || got[i]-got[0] < want || got[i]-got[0] > want+2*time.Second {
					t.Fatalf("tried at %v", got)
				}
			}
			if len(all["page"].heard()) != 1 {
				t.Errorf("the other notifier was asked %v", all["page"].heard())
			}
			all["hook"].now(nil)
			r.trouble("r/x.3") // the old one is due again meanwhile
			if got := all["hook"].heard(); !slices.Contains(got, "c1-2") || len(got) != 6 {
				t.Errorf("told %v", got)
			}
			if r.notice(1).Pending || r.notice(2).Pending {
				t.Errorf("still pending: %+v, %+v", r.notice(1), r.notice(2))
			}
			if f := d.Figures().Effects[2]; f.Failed != 4 || f.Done != 2 {
				t.Errorf("figures %+v", f)
			}
		})
	})
}

// A change of leader between the delivery and its record: the next leader delivers again
// with the same id, and then nobody does.
func TestNoticesSurviveAChangeOfLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all, cfg := troubled(t, "hook")
		all["hook"].fail = errors.New("no connection")
		inStint(t, r, cfg, func(*Duty) {
			r.trouble("r/x.1")
			r.ticks(12 * time.Second)
			all["hook"].now(nil)
			r.mu.Lock()
			r.fail = noun.ErrUnknownOutcome // delivered, and it cannot be written
			r.mu.Unlock()
			r.ticks(20 * time.Second)
		})
		before := all["hook"].heard()
		if len(before) < 3 || !r.notice(1).Pending {
			t.Fatalf("told %v, %+v", before, r.notice(1))
		}
		r.mu.Lock()
		r.fail = nil
		r.mu.Unlock()
		inStint(t, r, cfg, func(*Duty) {
			r.ticks(time.Minute)
			got := all["hook"].heard()
			if len(got) != len(before)+1 || r.notice(1).Pending {
				t.Errorf("told %v, %v before the change", got, before)
			}
			for _, id := range got {
				if id != "c1-1" {
					t.Errorf("told %v, want one id", got)
				}
			}
		})
		inStint(t, r, cfg, func(*Duty) { r.ticks(time.Minute) })
		if got := all["hook"].heard(); len(got) != len(before)+1 {
			t.Errorf("told %v after it was written", got)
		}
	})
}

// Many at once are gathered into few calls, the most urgent first, and each is told of;
// when a call fails, all of it is tried again together.
func TestManyNoticesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all, cfg := troubled(t, "hook")
		r.do(room("many", noun.RoleSpec{Name: "x", Replicas: 300}))
		all["hook"].fail = errors.New("status 503")
		inStint(t, r, cfg, func(*Duty) {
			r.do(fsm.SendMail{From: "ann", To: "many", Body: "x", Priority: noun.MailHigh})
			r.ticks(10*time.Minute - 2*time.Second)
			r.do(fsm.SendMail{From: "ann", To: "r/x.1", Body: "x", Priority: noun.MailUrgent})
			all["hook"].now(nil)
			r.ticks(3 * time.Minute)
			if got := all["hook"].heard(); len(got) > 4 {
				t.Errorf("%d calls for 301 escalations: %v", len(got), got)
			}
			r.Read(func(s *fsm.View) {
				if c := s.EscalationCounts(); c.Open != 301 || c.Pending != 0 {
					t.Errorf("%+v", c)
				}
			})
		})
		before := len(all["hook"].heard())
		r.do(room("more", noun.RoleSpec{Name: "x", Replicas: 9}))
		all["hook"].now(errors.New("status 503"))
		r.do(fsm.SendMail{From: "ann", To: "more", Body: "x", Priority: noun.MailUrgent})
		r.ticks(2*time.Minute + time.Second) // nobody leads
		inStint(t, r, cfg, func(*Duty) {
			synctest.Wait()
			if got := all["hook"].heard()[before:]; len(got) != 1 || len(all["hook"].last.Also) != 8 ||
				all["hook"].last.Also[0].Subject != "more/x.2" || all["hook"].last.OwnID != "c1-302" ||
				all["hook"].last.Also[0].ID != "c1-303" || all["hook"].last.ID != got[0] {
				t.Fatalf("told %v, the last with %+v", got, all["hook"].last.Also)
			}
			all["hook"].now(nil)
			r.ticks(12 * time.Second)
			if got := all["hook"].heard()[before:]; len(got) != 2 || got[0] != got[1] {
				t.Errorf("tried again as %v", got)
			}
		})
	})
}

// A gathering has an id of its own: who drops the ids that it has seen would drop all others with the first.
func TestGatheringsHaveIDsOfTheirOwn(t *testing.T) {
	list := func(numbers ...uint64) (list []fsm.NoteNotice) {
		for _, n := range numbers {
			list = append(list, fsm.NoteNotice{Notice: n})
		}
		return list
	}
	seen := map[string]bool{}
	for _, l := range [][]fsm.NoteNotice{list(7), list(8), list(7, 8), list(7, 9, 8), list(7, 9), list(9, 8),
		list(78), list(1, 5, 9), list(1, 6, 9)} {
		id := noticeID("c", l)
		if seen[id] {
			t.Errorf("%s stands for two calls", id)
		}
		seen[id] = true
	}
	if noticeID("c", list(7, 9, 8)) != noticeID("c", list(9, 8, 7)) {
		t.Error("the same call has two ids")
	}
}

// A notifier that hangs is given up after its timeout, and a stint ends although it hangs.
func TestNotifiersThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all, cfg := troubled(t, "hook")
		all["hook"].hang = true
		cfg.Escalate.Notifiers[0].Timeout = 3 * time.Second
		inStint(t, r, cfg, func(*Duty) {
			r.trouble("r/x.1")
			r.ticks(5 * time.Second)
			if n := r.notice(1); len(n.Deliveries) != 1 || n.Deliveries[0].Failure != "no answer in time" {
				t.Errorf("%+v", n)
			}
			r.ticks(12 * time.Second) // in the middle of the second try
		})
	})
}

func TestNotifiersAreChecked(t *testing.T) {
	send := func(context.Context, string, []byte) error { return nil }
	for name, list := range map[string][]Notifier{
		"no name": {{Send: send}}, "no way": {{Name: "a"}}, "twice": {{Name: "a", Send: send}, {Name: "a", Send: send}},
		"long": {{Name: strings.Repeat("x", noun.MaxNotifierName+1), Send: send}},
		"many": make([]Notifier, noun.MaxNotifiers+1),
	} {
		if _, err := Open(Config{Replica: &replica{}, Escalate: &Escalate{Notifiers: list}}); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// Notifiers are replaced while a leader is at work: who is gone gets nothing any more, who came does, and what was
// said to a name is not said to it again.
func TestNotifiersAreReplacedWhileALeaderWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all, cfg := troubled(t, "a", "b")
		inStint(t, r, cfg, func(d *Duty) {
			r.trouble("r/x.1")
			newA, c := &told{began: time.Now()}, &told{began: time.Now()}
			added, removed, err := d.SetNotifiers([]Notifier{{Name: "a", Send: newA.Send}, {Name: "c", Send: c.Send}})
			if err != nil || !slices.Equal(added, []string{"c"}) || !slices.Equal(removed, []string{"b"}) {
				t.Errorf("added %v, removed %v, %v", added, removed, err)
			}
			if _, _, err := d.SetNotifiers([]Notifier{{Name: "a", Send: c.Send}, {Name: "a", Send: c.Send}}); err == nil {
				t.Error("two of one name were taken")
			}
			r.trouble("r/x.2")
			for name, n := range map[string]*told{"the old a": all["a"], "b, which is gone": all["b"]} {
				if got := n.heard(); !slices.Equal(got, []string{"c1-1"}) {
					t.Errorf("%s was told %v", name, got)
				}
			}
			for name, n := range map[string]*told{"the new a": newA, "c": c} {
				if got := n.heard(); !slices.Equal(got, []string{"c1-2"}) {
					t.Errorf("%s was told %v", name, got)
				}
			}
			if f := d.Figures().Effects[2:]; len(f) != 2 || f[0].Target != "a" || f[0].Done != 2 {
				t.Errorf("figures %+v", f)
			}
		})
	})
}
