package fsm

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// spender is a room with two agents of one role on a host that tells their usage.
type spender struct {
	*drive
	h   noun.HostID
	one noun.AgentID
	two noun.AgentID
}

func newSpender(t *testing.T, spec noun.RoleSpec, room noun.SpendLimit) *spender {
	t.Helper()
	x := &spender{drive: newDrive(t)}
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.jump(time.Minute)
	x.h = x.host("h1", "w")
	x.applies(spec, room)
	x.must(Join{Speaker: x.start("r/a", x.h)})
	x.one, x.two = x.agent("r/a").ID, x.agent("r/a.2").ID
	return x
}

// applies declares the room.
func (x *spender) applies(spec noun.RoleSpec, room noun.SpendLimit) {
	x.t.Helper()
	spec.Name, spec.Runner, spec.Replicas = "a", "w", 2
	x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{spec}, By: "test", Spend: []noun.SpendLimit{room}})
}

// tells has the host tell what the first agent's life has used in all.
func (x *spender) tells(u Used) {
	x.t.Helper()
	if u.Agent == 0 {
		u.Agent = x.one
	}
	if u.Inc == 0 {
		u.Inc = x.s.Agent(u.Agent).Inc
	}
	u.Run = max(u.Run, 1)
	x.jump(15 * time.Second)
	e := x.entry()
	e.Beats = []HostBeats{{Host: x.h, Boot: "boot1", Usage: []Used{u}, Packed: PackBeats(nil, []noun.AgentID{x.one},
		[]noun.Incarnation{x.agent("r/a").Inc}, []uint8{BeatFence | BeatVouch})}}
	x.apply(e)
}

func (x *spender) stage() noun.Stage {
	if p := x.s.RoleByName("r", "a").Spent; p != nil {
		return p.Stage
	}
	return noun.StageFree
}

func (x *spender) claim() noun.Outcome {
	x.t.Helper()
	x.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "test"})
	return x.do(Claim{Speaker: Speaker{Agent: "r/a", Inc: x.agent("r/a").Inc}})
}

// L11: four fifths of a budget call a human, all of it lets nothing new begin and end nothing that runs; the
// window lets it go on, and a human before.
func TestL11BudgetIsABrake(t *testing.T) {
	x := newSpender(t, noun.RoleSpec{SpendTokens: 1000}, noun.SpendLimit{})
	x.tells(Used{Input: 500, Output: 299, Cache: 1e6})
	if x.stage() != noun.StageFree {
		t.Fatalf("%s below four fifths: what is read from a cache counts", x.stage())
	}
	if out := x.claim(); out.Code != noun.OK || out.Task == 0 {
		t.Fatalf("claim within the budget: %+v", out)
	}
	x.tells(Used{Input: 500, Output: 300, Cache: 1e6})
	if x.stage() != noun.StageWarned || x.budgetEscalation() != noun.MailNormal {
		t.Fatalf("%s, escalation %s at four fifths", x.stage(), x.budgetEscalation())
	}
	var warned noun.Escalation
	for e := range x.s.Escalations(0) {
		warned = *e
	}
	x.must(AckEscalation{Escalation: warned.ID, By: "ann"}) // of the warning, not of what is worse
	x.tells(Used{Input: 700, Output: 300, Cache: 1e6})
	if x.stage() != noun.StageOut || x.budgetEscalation() != noun.MailHigh {
		t.Fatalf("%s, escalation %s with all of it used", x.stage(), x.budgetEscalation())
	}
	if n := x.s.Escalation(warned.ID).Notice; n.Number == warned.Notice.Number || !n.Pending {
		t.Errorf("nobody is told that all of it is used: %+v", n)
	}
	if a := x.agent("r/a"); a.Part != noun.PartActive || a.Task == 0 {
		t.Error("what runs was ended")
	}
	two := x.agent("r/a.2")
	x.want(noun.Conflict, OrderStart{Agent: two.ID, Inc: x.s.NextInc(two), Host: x.h})
	if why := x.s.Why(two.ID); why.Code != "budget" ||
		!strings.Contains(why.Text, "1000 of 1000 tokens") || why.Left <= 0 {
		t.Errorf("why: %+v", why)
	}
	x.must(LiftBudget{Room: "r", Role: "a", By: "ann"})
	if x.stage() != noun.StageFree || x.s.WhyNot(x.agent("r/a.2")) != "" {
		t.Errorf("lifted and %s: %q", x.stage(), x.s.WhyNot(x.agent("r/a.2")))
	}
	x.tells(Used{Input: 5000, Output: 300, Cache: 1e6})
	if x.stage() != noun.StageFree {
		t.Error("a lifted budget counts")
	}
}

// L10: what waits for a budget is no stall of its room: it is exempt from the conversation watchdog.
func TestL10RoomsThatWaitForABudgetAreExempt(t *testing.T) {
	x := newSpender(t, noun.RoleSpec{SpendTokens: 1000}, noun.SpendLimit{})
	x.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	x.jump(30 * time.Minute)
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomStalled {
		t.Fatalf("within its budget the room is %s: %s", q.State, q.Why)
	}
	x.tells(Used{Input: 700, Output: 300})
	x.jump(30 * time.Minute)
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomExempt || !strings.Contains(q.Why, "budget") {
		t.Errorf("the room is %s: %s", q.State, q.Why)
	}
	x.must(LiftBudget{Room: "r", Role: "a", By: "ann"}) // its silence counts from now on
	x.jump(10 * time.Minute)
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomActive {
		t.Errorf("ten minutes after the budget the room is %s: %s", q.State, q.Why)
	}
	x.jump(time.Second)
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomStalled {
		t.Errorf("then the room is %s: %s", q.State, q.Why)
	}
}

// budgetEscalation is the priority of the open escalation about a budget.
func (x *spender) budgetEscalation() (p noun.MailPriority) {
	for e := range x.s.Escalations(0) {
		if e.Kind == noun.EscBudget && e.State == noun.EscalationOpen {
			p = e.Priority
		}
	}
	return p
}

// L11: each of the three budgets holds for whom it is, and passes with the window.
func TestL11BudgetsOfRoomRoleAndAgent(t *testing.T) {
	for _, c := range []struct {
		name string
		spec noun.RoleSpec
		room noun.SpendLimit
		both bool // the other agent of the role is kept, too
		lift LiftBudget
	}{
		{"room, money", noun.RoleSpec{}, noun.SpendLimit{MicroUSD: 2e6}, true, LiftBudget{Room: "r"}},
		{"role, tokens", noun.RoleSpec{SpendTokens: 100}, noun.SpendLimit{}, true, LiftBudget{Room: "r", Role: "a"}},
		{"agent, money", noun.RoleSpec{SpendEachMicroUSD: 2e6}, noun.SpendLimit{}, false,
			LiftBudget{Room: "r", Role: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newSpender(t, c.spec, c.room)
			x.tells(Used{Input: 200, MicroUSD: 2e6})
			if out := x.claim(); out.Code != noun.NoTask || !strings.Contains(out.Detail, "budget lift") {
				t.Errorf("a claim beyond the budget: %+v", out)
			}
			if why := x.s.WhyNot(x.agent("r/a.2")); (why == "budget") != c.both {
				t.Errorf("the other agent: %q", why)
			}
			if text := x.s.Why(x.one).Text; !strings.Contains(text, "vigil budget lift "+c.lift.Room) {
				t.Errorf("nothing says how to go on: %s", text)
			}
			y := *x.drive // and by the window alone, after the hour under way and 24 more
			y.s = reload(t, x.s)
			y.jump(25 * time.Hour)
			y.apply(y.entry())
			if why := y.s.WhyNot(y.s.Agent(x.one)); why == "budget" || y.s.Hash() == x.s.Hash() {
				t.Errorf("after 25 h: %q", why)
			}
			x.must(c.lift)
			if out := x.do(Claim{Speaker: Speaker{Agent: "r/a", Inc: x.agent("r/a").Inc}}); out.Code != noun.OK {
				t.Errorf("a claim after the budget was lifted: %+v", out)
			}
		})
	}
}

// L3, L11: who waits in the room of an on_demand role and has used up its own budget is free for no task: another
// agent is started for it. It is free again when the window has passed, and when a human lifts the budget.
func TestL3WhoHasUsedUpItsBudgetIsNotFree(t *testing.T) {
	spec := noun.RoleSpec{Name: "a", Runner: "w", Replicas: 2, SpendEachTokens: 100, TTL: 24 * time.Hour}
	for name, over := range map[string]func(x *spender){
		"lift": func(x *spender) { x.must(LiftBudget{Room: "r", Role: "a", By: "ann"}) },
		"window": func(x *spender) {
			for range 3 {
				x.jump(9 * time.Hour)
				x.beat(x.h, BeatLease|BeatFence, x.one)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSpender(t, spec, noun.SpendLimit{})
			x.set("host_ttl", "24h")
			onDemand := spec
			onDemand.Start = noun.StartOnDemand
			x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{onDemand}, By: "test"})
			wanting := func() []noun.AgentID {
				list := slices.Collect(x.s.Wanting())
				if next := reload(t, x.s); !slices.Equal(list, slices.Collect(next.Wanting())) || next.Hash() != x.s.Hash() {
					t.Error("L12: a loaded state wants others")
				}
				return list
			}
			x.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "test"})
			if list := wanting(); len(list) != 0 {
				t.Errorf("within its budget it is free, and agents %v are to be started", list)
			}
			x.tells(Used{Input: 200})
			if a := x.agent("r/a"); a.Part != noun.PartWaiting || a.Notes().Used.Stage != noun.StageOut {
				t.Fatalf("it is %s with %+v", a.Part, a.Notes().Used)
			}
			if list := wanting(); !slices.Equal(list, []noun.AgentID{x.two}) || x.s.WhyNot(x.s.Agent(x.two)) != "" {
				t.Errorf("agents %v are to be started; the other one waits for %q", list, x.s.WhyNot(x.s.Agent(x.two)))
			}
			if over(x); len(wanting()) != 0 || x.agent("r/a").Part != noun.PartWaiting {
				t.Errorf("once it may go on, agents %v are to be started", wanting())
			}
		})
	}
}

// L11: an agent that lies about its usage moves no sum by more than a tool can use, and its lies are counted.
// L6: a host speaks for lives of its own.
func TestL11LiesAboutUsageAreClamped(t *testing.T) {
	x := newSpender(t, noun.RoleSpec{}, noun.SpendLimit{})
	x.tells(Used{Input: 1 << 63, Output: 5, Shell: 3})
	u := *x.agent("r/a").Notes().Used
	if most := noun.UsageIn(2 * time.Minute).Input; u.Life.Input > most || u.Life.Output != 5 || u.Clamped != 1 ||
		x.s.Figures().UsageClamped != 1 || u.Tool == 0 {
		t.Errorf("%+v, most is %d", u, most)
	}
	x.tells(Used{Input: 1 << 63, Output: 5, Shell: 3}) // a beat that was not acknowledged comes again
	if again := *x.agent("r/a").Notes().Used; again.Life != u.Life {
		t.Errorf("counted twice: %+v", again.Life)
	}
	x.tells(Used{Input: 10, Output: 1, Run: 2}) // its agentd was started again
	if now := x.agent("r/a").Notes().Used.Life; now != u.Life.Plus(noun.Usage{Input: 10, Output: 1}) {
		t.Errorf("after a restart of agentd: %+v", now)
	}
	other := x.host("h2", "w")
	e := x.entry()
	x.jump(time.Minute)
	e.Beats = []HostBeats{{Host: other, Boot: "boot1", Usage: []Used{{Agent: x.one, Inc: x.agent("r/a").Inc, Run: 9,
		Input: 7}}}}
	x.apply(e)
	x.tells(Used{Agent: x.two, Inc: 9, Input: 7}) // a life that has not begun
	if now := x.agent("r/a").Notes().Used; now.Life.Input != u.Life.Input+10 || x.agent("r/a.2").Notes().Used != nil {
		t.Errorf("another host spoke for it: %+v", now.Life)
	}
}

// L6: the last words of a life count until its successor has spoken, and what comes late then changes nothing.
func TestL11UsageOfAnOlderLife(t *testing.T) {
	x := newSpender(t, noun.RoleSpec{}, noun.SpendLimit{})
	x.tells(Used{Input: 100})
	old := x.agent("r/a").Inc
	x.must(ReportExit{Host: x.h, Agent: x.one, Inc: old, Code: 1})
	x.tells(Used{Inc: old, Input: 150})
	if got := x.agent("r/a").Notes().Used; got.Life.Input != 150 || got.Inc != old {
		t.Fatalf("the last word of a life: %+v", got)
	}
	x.must(Join{Speaker: x.start("r/a", x.h)})
	x.tells(Used{Input: 7})
	was := *x.agent("r/a").Notes().Used
	x.tells(Used{Inc: old, Input: 190})
	if got := *x.agent("r/a").Notes().Used; got.Inc == old || got.Life != was.Life ||
		got.Day.Sum(x.s.Clock()).Input != 157 {
		t.Errorf("after a late word %+v, %+v, before it %+v", got, got.Day.Sum(x.s.Clock()), was)
	}
}

// A report right after another one counts: a host tells what it was acknowledged for only once. What is too much for
// so short a time counts with the next report, and is no lie yet.
func TestL11HurriedReportOfUsageCounts(t *testing.T) {
	x := newSpender(t, noun.RoleSpec{}, noun.SpendLimit{})
	hurried := func(u Used) uint64 {
		u.Agent, u.Inc, u.Run = x.one, x.agent("r/a").Inc, 1
		e := x.entry()
		e.Beats = []HostBeats{{Host: x.h, Boot: "boot1", Usage: []Used{u}}}
		x.apply(e)
		return x.agent("r/a").Notes().Used.Life.Input
	}
	x.tells(Used{Input: 100})
	x.jump(200 * time.Millisecond)
	if got := hurried(Used{Input: 350}); got != 350 {
		t.Errorf("after a second report at once: %d", got)
	}
	x.jump(200 * time.Millisecond)
	if got := hurried(Used{Input: 100_000}); got <= 350 || got >= 100_000 {
		t.Errorf("more than can be in 200 ms: %d", got)
	}
	x.tells(Used{Input: 100_000})
	if u := x.agent("r/a").Notes().Used; u.Life.Input != 100_000 || u.Clamped != 0 {
		t.Errorf("in the end: %d, %d times more than can be", u.Life.Input, u.Clamped)
	}
}

// What is told counts for the task that the life holds, or for the one that it held last, over all its attempts,
// and is the room's with the task only once.
func TestL11UsageCountsForTasks(t *testing.T) {
	x := newSpender(t, noun.RoleSpec{}, noun.SpendLimit{})
	used := func(id noun.TaskID) (sum noun.Usage) {
		if u := x.s.Task(id).Used; u != nil {
			sum = *u
		}
		return sum
	}
	x.tells(Used{Input: 100}) // it holds none and never has
	first := x.claim().Task
	x.tells(Used{Input: 150, Output: 10, Shell: 2})
	me := Speaker{Agent: "r/a", Inc: x.agent("r/a").Inc}
	x.must(CompleteTask{Work: Work{Speaker: me, Task: first, Attempt: 1}})
	x.tells(Used{Input: 160, Output: 10, Shell: 2}) // what it used before that came too late to be told
	if want := (noun.Usage{Input: 60, Output: 10, Tools: 2}); used(first) != want {
		t.Errorf("the first task: %+v, not %+v", used(first), want)
	}
	short := x.claim().Task // is over when its use is told
	x.must(CompleteTask{Work: Work{Speaker: me, Task: short, Attempt: 1}})
	x.tells(Used{Input: 165, Output: 10, Shell: 2})
	if got := used(short).Input; got != 5 {
		t.Errorf("the short task used %d", got)
	}
	second := x.claim().Task
	x.tells(Used{Input: 200, Output: 10, Shell: 2})
	x.must(FailTask{Work: Work{Speaker: me, Task: second, Attempt: 1}, Reason: "no", Retryable: true})
	for x.do(Claim{Speaker: me}).Task == 0 { // it is tried again after a while
		x.tells(Used{Input: 200, Output: 10, Shell: 2})
	}
	x.tells(Used{Input: 230, Output: 10, Shell: 2})
	x.tells(Used{Input: 230, Output: 10, Shell: 2}) // twice
	if got := used(second).Input; got != 65 || used(first).Input != 60 {
		t.Errorf("two attempts of the second task used %d, the first one %d", got, used(first).Input)
	}
	if all := x.s.Room("r").Spent.Day.Sum(x.s.Clock()); all.Input != 230 {
		t.Errorf("the room has used %d", all.Input)
	}
}

// L9: the later word of a human holds: another limit ends what an earlier one was lifted for, and a file that is
// applied as it was ends nothing.
func TestL9AnotherBudgetEndsTheLift(t *testing.T) {
	room := noun.SpendLimit{Tokens: 1000}
	for name, c := range map[string]struct {
		spec, next noun.RoleSpec
		room, then noun.SpendLimit
		lift       LiftBudget
	}{
		"room": {room: room, then: noun.SpendLimit{Tokens: 900}, lift: LiftBudget{Room: "r"}},
		"role": {spec: noun.RoleSpec{SpendTokens: 1000}, next: noun.RoleSpec{SpendTokens: 900},
			lift: LiftBudget{Room: "r", Role: "a"}},
		"agent": {spec: noun.RoleSpec{SpendEachTokens: 1000}, next: noun.RoleSpec{SpendEachTokens: 900},
			lift: LiftBudget{Room: "r", Role: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSpender(t, c.spec, c.room)
			x.tells(Used{Input: 1500})
			if out := x.claim(); out.Code == noun.OK && out.Task != 0 {
				t.Fatalf("claimed beyond the budget: %+v", out)
			}
			x.must(c.lift)
			x.applies(c.spec, c.room)
			if out := x.claim(); out.Code != noun.OK || out.Task == 0 {
				t.Fatalf("the same file has ended the lift: %+v", out)
			}
			x.must(CompleteTask{Work: Work{Speaker: Speaker{Agent: "r/a", Inc: x.agent("r/a").Inc},
				Task: x.agent("r/a").Task, Attempt: 1}})
			x.applies(c.next, c.then)
			if out := x.claim(); out.Code == noun.OK && out.Task != 0 || x.budgetEscalation() != noun.MailHigh {
				t.Fatalf("claimed beyond the new budget: %+v; escalation %s", out, x.budgetEscalation())
			}
			if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Check() != nil {
				t.Errorf("loaded: %v", got.Check())
			}
			x.must(c.lift)
			if out := x.claim(); out.Code != noun.OK || out.Task == 0 {
				t.Errorf("lifted again: %+v", out)
			}
		})
	}
}

// The naive twin keeps every report and adds up those of the window each time; sums and bars agree.
func TestTwinOfBudgetsAgrees(t *testing.T) {
	for _, seed := range seeds(t, 4) {
		r := rand.New(rand.NewPCG(seed, 5))
		limit := noun.SpendLimit{Tokens: 5000}
		x := newSpender(t, noun.RoleSpec{SpendTokens: limit.Tokens}, noun.SpendLimit{})
		type report struct {
			hour   uint64
			tokens uint64
		}
		var all []report
		total, lifted, bars := uint64(0), noun.Time(0), 0
		for range 400 {
			if r.IntN(3) == 0 {
				x.jump(time.Duration(r.IntN(5*3600)) * time.Second)
			}
			if r.IntN(60) == 0 {
				x.must(LiftBudget{Room: "r", Role: "a", By: "t"})
				lifted = x.clock.Add(25 * time.Hour)
			}
			if r.IntN(40) == 0 { // half of the time a file that says what it did
				if r.IntN(2) == 0 {
					limit.Tokens, lifted = 9000-limit.Tokens, 0
				}
				x.applies(noun.RoleSpec{SpendTokens: limit.Tokens}, noun.SpendLimit{})
			}
			more := uint64(r.IntN(400))
			total += more
			x.tells(Used{Input: total})
			all = append(all, report{noun.HourOf(x.clock), more})
			sum := uint64(0)
			for _, one := range all {
				if one.hour+24 >= noun.HourOf(x.clock) {
					sum += one.tokens
				}
			}
			want := sum >= limit.Tokens && x.clock >= lifted
			if got := x.s.RoleByName("r", "a").Spent.Day.Sum(x.clock).Tokens(); got != sum {
				t.Fatalf("seed %d: the window has %d tokens, the twin %d", seed, got, sum)
			}
			if barred := x.stage() == noun.StageOut; barred != want {
				t.Fatalf("seed %d: barred %v at %d tokens, the twin says %v", seed, barred, sum, want)
			}
			if want {
				bars++
			}
		}
		if bars == 0 || bars == 400 {
			t.Errorf("seed %d: barred %d times", seed, bars)
		}
	}
}
