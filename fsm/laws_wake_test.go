package fsm

import (
	"maps"
	"slices"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// sleeper is a role on demand, of which nothing runs and for which there is no task.
type sleeper struct {
	*drive
	host noun.HostID
}

func newSleeper(t *testing.T) *sleeper {
	x := &sleeper{drive: newDrive(t)}
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "24h"}}})
	x.host = x.drive.host("h1", "worker")
	x.room("demo", managed("b", func(r *noun.RoleSpec) { r.Start, r.Replicas = noun.StartOnDemand, 3 }))
	x.called()
	return x
}

func (x *sleeper) mail(to string, p noun.MailPriority) noun.MailID {
	x.t.Helper()
	return x.must(SendMail{From: "ann", To: to, Body: "look", Priority: p}).Mail
}

// called demands that exactly these agents are to be started, by every index and by the choke point.
func (x *sleeper) called(names ...string) {
	x.t.Helper()
	var due []string
	for id := range x.s.Wanting() {
		due = append(due, x.s.Agent(id).Name)
	}
	if !slices.Equal(due, names) || len(names) > 0 && x.s.DueStarts(1) != len(names) {
		x.t.Fatalf("%q are to be started (%d starts), want %q", due, x.s.DueStarts(1), names)
	}
	for a := range x.s.Agents("") {
		if why := x.s.WhyNot(a); (why == "") != slices.Contains(names, a.Name) {
			x.t.Errorf("%s is to be started: %v, and the reason against it is %q", a.Name,
				slices.Contains(names, a.Name), why)
		}
	}
}

// Urgent mail starts the very agent that it is for, once, and the agent goes down as one that had
// a task does.
func TestN36UrgentMailStartsItsAgent(t *testing.T) {
	x := newSleeper(t)
	mail := x.mail("demo/b.2", noun.MailUrgent)
	x.called("demo/b.2")
	if n := x.s.Wanted(); n != 1 {
		t.Errorf("%d agents should run", n)
	}
	x.want(noun.Conflict, OrderStart{Agent: 1, Inc: 1, Host: x.host})
	sp := x.start("demo/b.2", x.host)
	x.called()
	x.must(Join{Speaker: sp})
	if out := x.must(ReadMail{Speaker: sp}); out.Count != 1 {
		t.Fatalf("it reads %d mails", out.Count)
	}
	x.must(AckMail{Speaker: sp, Mail: mail})
	x.must(ReportExit{Host: x.host, Agent: 2, Inc: sp.Inc})
	x.called()
	if a := x.agent("demo/b.2"); a.Failures != 0 || a.NotBefore != 0 {
		t.Errorf("a life that has answered mail is charged: %d failures", a.Failures)
	}
}

// One start serves a mail and a task: who is called for takes the task too.
func TestN36OneStartServesMailAndTask(t *testing.T) {
	x := newSleeper(t)
	x.mail("demo/b.3", noun.MailUrgent)
	x.must(CreateTask{Room: "demo", Role: "b"})
	var first noun.AgentID
	for id := range x.s.DueAgents(1) {
		first = id
		break
	}
	if n := x.s.DueStarts(1); n != 1 || first != 3 || x.s.Wanted() != 1 {
		t.Fatalf("%d starts, the first of agent %d; %d should run", n, first, x.s.Wanted())
	}
	x.start("demo/b.3", x.host)
	x.called()
	x.must(CreateTask{Room: "demo", Role: "b"})
	x.mail("demo/b.3", noun.MailUrgent) // it runs
	x.mail("demo/b.2", noun.MailUrgent)
	if n := x.s.DueStarts(1); n != 1 {
		t.Errorf("%d starts for one task and one mail", n)
	}
}

// Which priorities start an agent is a setting that holds at once, and for the mail that waits.
func TestN36TheSettingSaysWhichMail(t *testing.T) {
	for value, woken := range map[string]int{"never": 0, "urgent": 1, "high": 2, "normal": 3} {
		x := newSleeper(t)
		for i, p := range []noun.MailPriority{noun.MailUrgent, noun.MailHigh, noun.MailNormal} {
			x.mail([]string{"demo/b.1", "demo/b.2", "demo/b.3"}[i], p)
		}
		x.called("demo/b") // the default
		x.must(PutSettings{Values: []noun.KV{{Key: "mail_wakes", Value: value}}})
		x.called([]string{"demo/b", "demo/b.2", "demo/b.3"}[:woken]...)
		x.s = reload(t, x.s)
		x.called([]string{"demo/b", "demo/b.2", "demo/b.3"}[:woken]...)
	}
	x := newSleeper(t)
	x.must(PutSettings{Values: []noun.KV{{Key: "mail_wakes", Value: "normal"}}})
	x.mail("demo/b", noun.MailLow)
	x.called()
	x.want(noun.Invalid, PutSettings{Values: []noun.KV{{Key: "mail_wakes", Value: "low"}}})
}

// Mail gives way to every reason against a start, and starts its agent once that is gone.
func TestN36EveryReasonAgainstAStartBeatsMail(t *testing.T) {
	const name = "demo/b"
	cases := map[string]struct{ against, off func(x *sleeper) }{
		"room paused": {func(x *sleeper) { x.must(SetPause{Scope: "demo", Pause: true, By: "ann"}) },
			func(x *sleeper) { x.must(SetPause{Scope: "demo", By: "ann"}) }},
		"all paused": {func(x *sleeper) { x.must(SetPause{Pause: true, By: "ann"}) },
			func(x *sleeper) { x.must(SetPause{By: "ann"}) }},
		"agent paused": {func(x *sleeper) { x.must(SetPause{Scope: name, Pause: true, By: "ann"}) },
			func(x *sleeper) { x.must(SetPause{Scope: name, By: "ann"}) }},
		"agent stopped": {func(x *sleeper) { x.must(SetAgent{Agent: name, Stop: true, By: "ann"}) },
			func(x *sleeper) { x.must(SetAgent{Agent: name, By: "ann"}) }},
		"back-off": {func(x *sleeper) {
			x.fails(2)
		}, func(x *sleeper) { x.pass(10 * time.Second) }},
		"budget used up": {func(x *sleeper) {
			x.fails(5)
			if why := x.s.WhyNot(x.agent(name)); why != "parked" {
				x.t.Fatalf("it is %q", why)
			}
		}, func(x *sleeper) { x.must(UnparkAgent{Agent: name, By: "ann"}) }},
	}
	for _, what := range slices.Sorted(maps.Keys(cases)) {
		for _, mailFirst := range []bool{true, false} {
			t.Run(what, func(t *testing.T) {
				x := newSleeper(t)
				if what == "back-off" || what == "budget used up" { // only what is called for fails
					mailFirst = true
				}
				if mailFirst {
					x.mail("demo/b.1", noun.MailUrgent)
				}
				cases[what].against(x)
				if !mailFirst {
					x.mail("demo/b.1", noun.MailUrgent)
				}
				x.called()
				cases[what].off(x)
				x.called(name)
			})
		}
	}
}

// fails has the first agent started and crash so often. Its mail goes on waiting.
func (x *sleeper) fails(times int) {
	x.t.Helper()
	for range times {
		for range 600 {
			if x.s.Wants(x.s.Agent(1)) {
				break
			}
			x.pass(time.Second)
		}
		sp := x.start("demo/b", x.host)
		x.must(ReportExit{Host: x.host, Agent: 1, Inc: sp.Inc, Code: 1})
	}
}

// What needs no reader any more starts nobody.
func TestN36MailThatIsSettledStartsNobody(t *testing.T) {
	for what, settle := range map[string]func(x *sleeper, mail noun.MailID){
		"acknowledged by a life begun by hand": func(x *sleeper, mail noun.MailID) {
			sp := Speaker{Agent: "demo/b", Inc: x.must(Join{Speaker: Speaker{Agent: "demo/b"}}).Inc}
			x.called()
			x.must(AckMail{Speaker: sp, Mail: mail})
			x.must(Leave{Speaker: sp})
		},
		"read, and not acknowledged": func(x *sleeper, mail noun.MailID) {
			sp := Speaker{Agent: "demo/b", Inc: x.must(Join{Speaker: Speaker{Agent: "demo/b"}}).Inc}
			x.must(ReadMail{Speaker: sp})
			x.must(Leave{Speaker: sp})
		},
		"expired": func(x *sleeper, _ noun.MailID) {
			x.must(PutSettings{Values: []noun.KV{{Key: "mail_expiry", Value: "10m"}}})
			x.called("demo/b")
			x.pass(10 * time.Minute)
		},
		"passed over by a life that ended by itself": func(x *sleeper, _ noun.MailID) {
			x.pass(time.Second)
			sp := x.start("demo/b", x.host)
			x.must(Join{Speaker: sp})
			x.must(ReportExit{Host: x.host, Agent: 1, Inc: sp.Inc})
			x.pass(time.Minute)
		},
	} {
		t.Run(what, func(t *testing.T) {
			x := newSleeper(t)
			mail := x.mail("demo/b.1", noun.MailUrgent)
			x.called("demo/b")
			settle(x, mail)
			x.called()
			x.pass(time.Second)
			x.mail("demo/b.1", noun.MailUrgent) // a new one does
			x.called("demo/b")
		})
	}
}

// A role that becomes one on demand starts agents for mail that waits, one that is always on needs
// none.
func TestN36ARoleMayBecomeOneOnDemand(t *testing.T) {
	x := newSleeper(t)
	three := func(r *noun.RoleSpec) { r.Replicas = 3 }
	x.mail("demo/b.2", noun.MailUrgent)
	x.room("demo", managed("b", three))
	x.called("demo/b", "demo/b.2", "demo/b.3")
	x.room("demo", managed("b", three, func(r *noun.RoleSpec) { r.Start = noun.StartOnDemand }))
	x.called("demo/b.2")
}

// Before every server reads the level, mail starts nobody; then what waits does.
func TestN36MailStartsNobodyBeforeItsLevel(t *testing.T) {
	x := &sleeper{drive: newDrive(t)}
	x.host = x.drive.host("h1", "worker")
	x.room("demo", managed("b", func(r *noun.RoleSpec) { r.Start = noun.StartOnDemand }))
	x.mail("demo/b", noun.MailUrgent)
	x.called()
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.called("demo/b")
	if got := core.Level(PutSettings{Values: []noun.KV{{Key: "mail_wakes", Value: "never"}}}); got != core.LevelRetry {
		t.Errorf("the setting needs level %d", got)
	}
}
