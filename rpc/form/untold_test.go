package form_test

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
)

// A budget is named that cannot bite, whether the role, each of its agents or its room has it: an agent completes
// tasks, and no agent of the role tells of what it is in. Nothing is said of a life that is too young to have told.
func TestBudgetsThatCannotBiteAreNamed(t *testing.T) {
	type told struct{ tokens, micro uint64 }
	for name, c := range map[string]struct {
		role noun.RoleSpec
		room noun.SpendLimit
		told told // by the second agent
		done bool
		age  time.Duration
		want []string
	}{
		"dollars of each, no cost told": {role: noun.RoleSpec{SpendEachMicroUSD: 20e6}, told: told{tokens: 5}, done: true,
			age: time.Hour, want: []string{"The budget in US dollars that holds for role web/a"}},
		"dollars and tokens, nothing told": {role: noun.RoleSpec{SpendMicroUSD: 20e6, SpendTokens: 1e6}, done: true,
			age: time.Hour, want: []string{"in US dollars", "in tokens"}},
		"of the room": {room: noun.SpendLimit{Tokens: 1e6}, done: true, age: time.Hour, want: []string{"in tokens"}},
		"all told": {role: noun.RoleSpec{SpendMicroUSD: 20e6, SpendTokens: 1e6}, told: told{5, 5}, done: true,
			age: time.Hour},
		"no budget":            {done: true, age: time.Hour},
		"no task done":         {role: noun.RoleSpec{SpendTokens: 1e6}, age: time.Hour},
		"a life that is young": {role: noun.RoleSpec{SpendTokens: 1e6}, done: true, age: time.Minute},
	} {
		st, index, clock := fsm.New(), uint64(0), noun.Time(time.Hour)
		apply := func(e *fsm.Entry) noun.Result {
			index++
			e.Index, e.Term, e.Stint, e.Stamp, e.Wall = index, 1, 1, clock, noun.Wall(clock)
			return st.Apply(e)
		}
		must := func(cmd fsm.Command) noun.Outcome {
			t.Helper()
			out := apply(&fsm.Entry{Requests: []fsm.Request{{Cmd: cmd}}}).Outcomes[0]
			if out.Code != noun.OK {
				t.Fatalf("%s: %T: %s", name, cmd, out.Detail)
			}
			return out
		}
		must(fsm.LeaderEstablished{Server: "s1"})
		must(fsm.RaiseLevel{Level: fsm.NewestLevel})
		h := must(fsm.RegisterHost{Key: "h1", Name: "h1", Boot: "b", Runners: []string{"codex"}}).Host
		c.role.Name, c.role.Runner, c.role.Replicas = "a", "codex", 2
		must(fsm.ApplyRoom{Room: "web", Roles: []noun.RoleSpec{c.role}, Spend: []noun.SpendLimit{c.room}})
		life := func(agent string) fsm.Speaker {
			a := st.AgentByName(agent)
			inc := st.NextInc(a)
			must(fsm.OrderStart{Agent: a.ID, Inc: inc, Host: h})
			must(fsm.AcceptOrder{Host: h, Boot: "b", Agent: a.ID, Inc: inc})
			must(fsm.ReportStarted{Host: h, Agent: a.ID, Inc: inc, PID: 7})
			sp := fsm.Speaker{Agent: agent, Inc: inc}
			must(fsm.Join{Speaker: sp})
			return sp
		}
		me, other := life("web/a"), life("web/a.2")
		if c.done {
			must(fsm.CreateTask{Room: "web", Role: "a"})
			out := must(fsm.Claim{Speaker: me})
			must(fsm.CompleteTask{Work: fsm.Work{Speaker: me, Task: out.Task, Attempt: out.Attempt}})
		}
		clock += noun.Time(time.Second)
		if c.told != (told{}) {
			apply(&fsm.Entry{Beats: []fsm.HostBeats{{Host: h, Boot: "b", Usage: []fsm.Used{{
				Agent: st.AgentByName(other.Agent).ID, Inc: other.Inc, Run: 1, Output: c.told.tokens,
				MicroUSD: c.told.micro}}}}})
		}
		clock += noun.Time(c.age)
		apply(&fsm.Entry{})
		got := form.UntoldBudgets(&st.View, st.RoleByName("web", "a"))
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) || !strings.Contains(got[i], "web/a has completed 1 task in life") {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}
