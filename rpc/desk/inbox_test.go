package desk

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// An escalation that names an agent for something else hides nothing of what the agent waits for.
func TestAnAgentAtAPromptIsSeenBesideItsQuarantinedTask(t *testing.T) {
	r := &replica{st: fsm.New()}
	r.do(fsm.RegisterHost{Key: "h", Name: "h", Boot: "b", Runners: []string{"w"}},
		fsm.ApplyRoom{Room: "web", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", KillLimit: 1}}})
	r.do()
	begins := func() fsm.Speaker {
		a := r.st.AgentByName("web/a")
		id, inc := a.ID, r.st.NextInc(a)
		r.do(fsm.OrderStart{Agent: id, Inc: inc, Host: 1}, fsm.AcceptOrder{Host: 1, Boot: "b", Agent: id, Inc: inc},
			fsm.ReportStarted{Host: 1, Agent: id, Inc: inc, PID: 1})
		me := fsm.Speaker{Agent: "web/a", Inc: inc}
		r.do(fsm.Join{Speaker: me})
		return me
	}
	me := begins()
	r.do(fsm.CreateTask{Room: "web", Role: "a", Title: "t"}, fsm.Claim{Speaker: me},
		fsm.ReportExit{Host: 1, Agent: 1, Inc: me.Inc, Signal: "killed"})
	if x := r.st.Task(1); x.State != noun.TaskQuarantined {
		t.Fatalf("its task is %s", x.State)
	}
	for range 3 { // its host is still there
		r.do()
	}
	me = begins()
	r.do(fsm.Declare{Speaker: me, Waiting: noun.WaitingInput, For: time.Hour})
	in := &inbox{leader: true, agents: map[noun.AgentID]bool{}, tasks: map[noun.TaskID]bool{}}
	in.escalations(&r.st.View)
	in.agent(&r.st.View, r.st.AgentByName("web/a"), judge.AgentNeedsInput)
	var kinds []string
	for _, i := range in.items {
		kinds = append(kinds, i.GetKind())
	}
	if !slices.Equal(kinds, []string{"task_quarantined", "needs_input"}) {
		t.Errorf("the inbox has %v", kinds)
	}
}
