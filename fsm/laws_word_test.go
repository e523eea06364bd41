package fsm

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// say does what a server does with a word of an agent: it notes what the word proves, and
// the entry carries that before the command.
func (d *drive) say(c Command) noun.Outcome {
	d.t.Helper()
	e := d.entry(Request{Cmd: c})
	if w := d.s.WordOf(c, 0); w.Inc != 0 {
		e.Words = PackWords(nil, []Word{w})
	}
	return d.apply(e).Outcomes[0]
}

// atWork is a drive with an agent of demo/b that must beat by itself and holds a task.
func atWork(t *testing.T) (*drive, Speaker, Work) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Proof = noun.ProofAgent }))
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	task := d.must(CreateTask{Room: "demo", Role: "b", Title: "t"}).Task
	return d, sp, Work{Speaker: sp, Task: task, Attempt: d.must(Claim{Speaker: sp}).Attempt}
}

// An agent that reports and does not beat lives (laws L1, L10), its missing beats are shown
// as what they are, and when it falls silent its lease ends as ever (law L2).
func TestN26WordsKeepTheLeaseOfAnAgentThatDoesNotBeat(t *testing.T) {
	d, _, w := atWork(t)
	d.host("h2", "worker")
	for range 10 {
		d.pass(50 * time.Second)
		d.beat(1, BeatFence, 1)
		if out := d.say(ProgressTask{Work: w, Note: "the same note"}); out.Code != noun.OK {
			t.Fatalf("progress was answered %s: %s", out.Code, out.Detail)
		}
	}
	var missing int
	for e := range d.s.Events(0) {
		if e.Kind == "agent.beats_missing" {
			missing++
		}
	}
	if missing != 1 {
		t.Errorf("missing beats were told %d times, want once", missing)
	}
	v := d.s.Verdict(1, true)
	if v.Kind != judge.AgentHealthy || v.Fine ||
		!slices.ContainsFunc(v.Reasons, func(r judge.Reason) bool { return r.Evidence == "lease" && r.Bad }) {
		t.Errorf("verdict %+v", v)
	}
	d.beat(0, BeatLease, 1)
	if v := d.s.Verdict(1, true); !v.Fine {
		t.Errorf("its beats are back, verdict %+v", v)
	}
	d.pass(55 * time.Second)
	d.beat(1, BeatFence, 1)
	d.pass(6 * time.Second)
	if a := d.agent("demo/b"); a.Part != noun.PartDisconnected || a.Task != 0 {
		t.Errorf("a silent agent is %s with task %d", a.Part, a.Task)
	}
}

// A word goes in before the timers of its entry: one that arrives in the very entry in which
// the lease would end keeps it; one behind that revives nothing.
func TestN26WordComesBeforeTheTimersAndRevivesNothing(t *testing.T) {
	d, _, w := atWork(t)
	until := d.s.Lease(1).Until
	d.clock = until.Add(-1)
	d.say(ProgressTask{Work: w})
	if got := d.s.Lease(1).Until; got != d.clock.Add(time.Minute) {
		t.Fatalf("the lease ends at %v after a word at %v", got, d.clock)
	}
	c := ProgressTask{Work: w}
	word := d.s.WordOf(c, 0)
	d.clock = d.s.Lease(1).Until
	e := d.entry(Request{Cmd: c})
	e.Words = PackWords(nil, []Word{word})
	if out := d.apply(e).Outcomes[0]; out.Code != noun.Rejoin {
		t.Errorf("a word behind the end was answered %s", out.Code)
	}
	if a := d.agent("demo/b"); a.Part != noun.PartDisconnected {
		t.Errorf("a word revived an ended lease: %s", a.Part)
	}
}

// Words renew the lease and nothing else: no fence, no rung, no progress.
func TestN26WordRenewsTheLeaseAlone(t *testing.T) {
	d, sp, w := atWork(t)
	d.must(StartTask{Work: w})
	d.pass(10 * time.Second)
	fence, progress := d.s.Lease(1).Fence, d.s.Task(w.Task).Progress
	word := d.s.WordOf(Declare{Speaker: sp}, 0)
	was := *d.agent("demo/b")
	e := d.entry()
	e.Words = PackWords(nil, []Word{word})
	d.apply(e)
	if l := d.s.Lease(1); l.Fence != fence || l.Until != d.clock.Add(time.Minute) ||
		d.s.Task(w.Task).Progress != progress || !reflect.DeepEqual(*d.agent("demo/b"), was) {
		t.Errorf("lease %+v, task %+v, agent %+v", l, d.s.Task(w.Task), d.agent("demo/b"))
	}
}

// What was said by another life, with another token, about another attempt, or twice,
// proves nothing.
func TestN26WhatIsNoProof(t *testing.T) {
	d, sp, w := atWork(t)
	d.must(Declare{Speaker: sp, Status: noun.StatusBusy, Text: "tests"})
	late, stranger, older := w, sp, sp
	late.Attempt++
	stranger.TokenHash = []byte("another token")
	older.Inc--
	for name, c := range map[string]Command{
		"another attempt":   CompleteTask{Work: late},
		"another token":     Declare{Speaker: stranger},
		"an older life":     Declare{Speaker: older},
		"an unknown agent":  Declare{Speaker: Speaker{Agent: "demo/x", Inc: sp.Inc}},
		"an equal report":   Declare{Speaker: sp, Status: noun.StatusBusy, Text: "tests"},
		"a claim":           Claim{Speaker: sp},
		"reading mail":      ReadMail{Speaker: sp},
		"a start by hand":   Join{Speaker: Speaker{Agent: "demo/b"}},
		"a human's mail":    SendMail{From: "me", To: "demo/b"},
		"a command":         CreateTask{Room: "demo", Role: "b"},
		"a leave":           Leave{Speaker: sp},
		"an unknown task":   ProgressTask{Work: Work{Speaker: sp, Task: 99, Attempt: 1}},
		"a resumed session": SetResume{Speaker: sp},
	} {
		if word := d.s.WordOf(c, 0); word != (Word{}) {
			t.Errorf("%s proves %+v", name, word)
		}
	}
	c := Declare{Speaker: sp, Status: noun.StatusHealthy}
	if word := d.s.WordOf(c, 5*time.Second); word.Fresh != 10*time.Second || word.Agent != 1 || word.Inc != sp.Inc {
		t.Errorf("a word of 5 s ago proves %+v, want it to count for 10 s more: a quarter of a minute less 5 s", word)
	}
	if word := d.s.WordOf(c, 15*time.Second); word != (Word{}) {
		t.Errorf("a word of 15 s ago proves %+v", word)
	}
}
