package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// chain is what is said of overseers, and what triage answers; words are often stale, doubled
// or nonsense.
func (c *chaos) chain(s *State) Command {
	var all []noun.AgentID
	for id := range s.Overseers(0) {
		all = append(all, id)
	}
	a := s.Agent(pick(c, all))
	if a == nil {
		return ApplyRoom{Room: "r", Roles: chainRoles(), By: "x"}
	}
	x := a.Notes().Chain
	switch n := c.rng.IntN(20); {
	case n < 5:
		return ReportPatrol{Speaker: c.speaker(a), Cycle: uint64(c.rng.IntN(3)), Action: "scan"}
	case n < 7:
		return LookAtOverseer{Agent: c.agent(s).Name, By: "x"}
	case n < 8:
		return HandOver{Speaker: c.speaker(a), Subject: "s"}
	case n < 10:
		return ProdOverseer{Agent: a.ID, Inc: c.inc(a.Inc), At: x.Prod}
	case n < 11:
		return NoteProd{Agent: a.ID, Inc: c.inc(a.Inc), Reason: "no terminal"}
	case n < 12:
		return SendMail{From: "ann", To: a.Name, Subject: "s"}
	case n < 13 && c.one(20):
		return PutSettings{Values: []noun.KV{{Key: "chain_enabled",
			Value: fmt.Sprint(!s.Settings().Chain.Enabled || c.one(4))}}}
	case n < 14 && c.one(30): // roles cease to be overseers, or to be there
		return ApplyRoom{Room: "r", Roles: pick(c, [][]noun.RoleSpec{chaosRoles(), chainRoles()}), By: "x"}
	}
	for _, id := range all {
		if t := s.Task(s.Agent(id).Notes().Chain.Task); t != nil && t.State.Held() {
			w := Work{Speaker: Speaker{Agent: s.Agent(t.Holder).Name, Inc: t.HolderInc}, Task: t.ID, Attempt: t.Attempt}
			if c.one(8) {
				return FailTask{Work: w, Reason: "x", Retryable: c.one(2)}
			}
			if c.one(5) {
				return CompleteTask{Work: w, Result: "nonsense"}
			}
			return AnswerLook{CompleteTask: CompleteTask{Work: w, Result: "an answer"},
				Decision: noun.Decision(c.rng.IntN(5))}
		}
	}
	for x := range s.Agents("r") {
		if s.Role(x.Role).Spec.Name == "boot" && x.Task == 0 {
			return Claim{Speaker: Speaker{Agent: x.Name, Inc: x.Inc}}
		}
	}
	return nil
}

func chainRoles() []noun.RoleSpec {
	short := func(name string) noun.RoleSpec {
		return noun.RoleSpec{Name: name, Runner: "w", TTL: 10 * time.Second, StopGrace: time.Second / 4, Replicas: 2}
	}
	deacon, plain, boot := short("deacon"), short("plain"), short("boot")
	deacon.Overseer, plain.Overseer = []noun.OverseerSpec{{Triage: "boot", HandoffAfter: 3}},
		[]noun.OverseerSpec{{Fresh: 2 * time.Second}}
	boot.Start = noun.StartOnDemand
	return append(chaosRoles(), deacon, plain, boot)
}

// chainTwin keeps what it has heard of each overseer, and judges each decision by it.
type chainTwin struct {
	patrol map[noun.AgentID]noun.Time // of the present life
	life   map[noun.AgentID]noun.Incarnation
	cycle  map[noun.AgentID]uint64
	last   uint64 // event
	seen   map[string]int
}

// heard takes a patrol that was accepted.
func (w *chainTwin) heard(s *State, r *ReportPatrol, out *noun.Outcome) {
	a := s.AgentByName(r.Agent)
	if a == nil || out.Code != noun.OK {
		return
	}
	if same := w.life[a.ID] == a.Inc && w.patrol[a.ID] != 0; same && r.Cycle != 0 && r.Cycle == w.cycle[a.ID] {
		return
	}
	if r.Cycle == 0 {
		r.Cycle = w.cycle[a.ID] + 1
	}
	w.patrol[a.ID], w.life[a.ID], w.cycle[a.ID] = s.Meta.Clock, a.Inc, r.Cycle
}

// rule is the table of Decide, written down once more, over what the twin has heard.
func (w *chainTwin) rule(s *State, a *noun.Agent) string {
	if a.Proc != noun.ProcOrdered && a.Proc != noun.ProcAccepted && a.Proc != noun.ProcRunning &&
		a.Part == noun.PartDisconnected {
		return "START"
	}
	since := a.StartedAt
	if w.life[a.ID] == a.Inc {
		since = max(since, w.patrol[a.ID])
	}
	if a.Declared != nil {
		since = max(since, min(a.Declared.Excused, s.Meta.Clock))
	}
	fresh, waits := 3*time.Second, false
	if s.Role(a.Role).Spec.Name == "plain" {
		fresh = 2 * time.Second
	}
	for _, m := range s.MailTable.From(0) {
		mine := m.FromInc == a.Inc && m.From == a.Name && m.Kind == noun.HandOverKind
		unread := m.State == noun.MailQueued || m.State == noun.MailDelivered &&
			(m.Again || m.DeliveredTo != a.Inc || !a.Lives())
		if m.To == a.ID && unread && !mine && (m.FromInc != 0 || m.From != noun.LaddersBy && m.From != noun.WatchedBy) {
			waits = true
		}
	}
	switch age := s.Meta.Clock.Sub(since) - s.Absent(a, since); {
	case age > 8*time.Second:
		return "WAKE"
	case age >= fresh && waits:
		return "NUDGE"
	}
	return "NOTHING"
}

// changed tells that something else happened to the agent or its host after the event, in the
// same entry.
func (w *chainTwin) changed(s *State, e *noun.Event) bool {
	host := s.HostNameOf(s.AgentByName(e.Agent))
	for later := range s.Events(e.Seq) {
		if later.Agent == e.Agent && later.Kind != "mail.sent" || later.Agent == "" && host != "" &&
			later.Host == host {
			return true
		}
	}
	return false
}

// judge looks at the decisions of the last entry.
func (w *chainTwin) judge(s *State) string {
	for e := range s.Events(w.last) {
		w.last = e.Seq
		a := s.AgentByName(e.Agent)
		if e.Kind != "agent.triage" || a == nil || a.Notes().Chain == nil || a.Notes().Chain.DecidedAt != e.At ||
			w.changed(s, e) {
			continue
		}
		x := a.Notes().Chain
		got, by, _ := strings.Cut(strings.SplitN(e.Text, ":", 2)[0], " by ")
		want := w.rule(s, a)
		w.seen[got+" by "+by]++
		if x.Degraded != "" {
			w.seen["degraded"]++
		}
		switch {
		case by == "mechanical" && got != want:
			return fmt.Sprintf("%s: the rule of the twin says %s: %q", a.Name, want, e.Text)
		case by == "triage" && want == "START" && got != "START":
			return fmt.Sprintf("%s is dead, and triage is believed: %q", a.Name, e.Text)
		case by == "triage" && s.Overseer(a).Triage == "":
			return fmt.Sprintf("%s has no triage: %q", a.Name, e.Text)
		}
	}
	open := map[noun.TaskID]bool{}
	for id := range s.Overseers(0) {
		if c := s.Agent(id).Notes().Chain; c.Task != 0 {
			if t := s.Task(c.Task); open[c.Task] || t == nil || t.State.Terminal() ||
				s.Meta.Clock.Sub(c.LookAt) > 5*time.Second && !s.Behind() {
				return fmt.Sprintf("the marker of %s is %d since %s", s.Agent(id).Name, c.Task,
					s.Meta.Clock.Sub(c.LookAt))
			}
			open[c.Task] = true
		}
	}
	return ""
}

// The naive twin of the chain agrees with every decision, and a state that was dumped and
// loaded in between goes on alike.
func TestTwinOfTheChainAgrees(t *testing.T) {
	seen := map[string]int{}
	for _, seed := range seeds(t, 6) {
		c, s := newChaos(seed, true), New()
		for _, e := range c.opening() {
			s.Apply(e)
		}
		for _, cmd := range []Command{ApplyRoom{Room: "r", Roles: chainRoles()},
			PutSettings{Values: []noun.KV{{Key: "overseer_interval", Value: "4s"},
				{Key: "overseer_fresh", Value: "3s"}, {Key: "overseer_stale", Value: "8s"},
				{Key: "triage_limit", Value: "5s"}, {Key: "ladder_cooldown", Value: "2s"}}}} {
			if out := s.Apply(c.entry(Request{Cmd: cmd})).Outcomes[0]; out.Code != noun.OK {
				t.Fatalf("%T: %s", cmd, out.Detail)
			}
		}
		w := &chainTwin{map[noun.AgentID]noun.Time{}, map[noun.AgentID]noun.Incarnation{},
			map[noun.AgentID]uint64{}, s.LastEvent(), seen}
		apply := func(e *Entry) noun.Result {
			res := s.Apply(e)
			if why := w.judge(s); why != "" {
				t.Fatalf("seed %d, entry %d: %s", seed, e.Index, why)
			}
			return res
		}
		for n := range 2500 {
			if n%2 == 0 {
				c.nurse(s)
				if why := w.judge(s); why != "" {
					t.Fatalf("seed %d, entry %d, nursing: %s", seed, c.index, why)
				}
			}
			e := c.next(s)
			apply(&Entry{Index: e.Index, Term: e.Term, Stint: e.Stint, Stamp: e.Stamp, Wall: e.Wall, Beats: e.Beats})
			if cmd := c.chain(s); cmd != nil {
				e.Requests = append(e.Requests, Request{Cmd: cmd})
			}
			for _, r := range e.Requests { // what each command did is seen one by one
				if _, chain := r.Cmd.(ReportPatrol); !chain && c.one(2) {
					continue
				}
				c.index++
				p, patrol := r.Cmd.(ReportPatrol)
				res := apply(&Entry{Index: c.index, Term: e.Term, Stint: e.Stint, Stamp: e.Stamp, Wall: e.Wall,
					Requests: []Request{r}})
				if patrol {
					w.heard(s, &p, &res.Outcomes[0])
				}
			}
			if err := s.Check(); err != nil {
				t.Fatalf("seed %d, entry %d, %+v: %v", seed, c.index, e.Requests, err)
			}
			if n%100 == 99 { // whoever goes on from a dump goes on alike
				other, log := reload(t, s), []*Entry{c.entry(), c.entry(), c.entry()}
				for i, e := range log {
					e.Stamp += noun.Time(i+1) * noun.Time(3*time.Second)
					other.Apply(e)
					s.Apply(e)
					if why := w.judge(s); why != "" {
						t.Fatalf("seed %d, entry %d: %s", seed, e.Index, why)
					}
				}
				if c.clock = log[2].Stamp; other.Hash() != s.Hash() {
					t.Fatalf("seed %d, entry %d: a restored state goes on otherwise", seed, c.index)
				}
			}
		}
	}
	for _, want := range []string{"NOTHING by mechanical", "NUDGE by mechanical", "WAKE by mechanical",
		"START by mechanical",
		"NOTHING by triage", "NUDGE by triage", "WAKE by triage", "START by triage", "degraded"} {
		if seen[want] == 0 && *seedFlag == 0 {
			t.Errorf("%s was never decided: the log exercises nothing", want)
		}
	}
	t.Logf("%v", seen)
}
