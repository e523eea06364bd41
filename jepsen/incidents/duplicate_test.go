//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// together calls functions at the same moment and waits for all of them.
func together(t *testing.T, calls ...func() error) {
	t.Helper()
	start := make(chan struct{})
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() {
			<-start
			errs[i] = call()
		})
	}
	close(start)
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// starter asks for the start of an agent, through one server.
func (w *world) starter(sv *stand.Server, slot string) func() error {
	fleet := vigilv1.NewFleetClient(w.at(sv))
	return func() error {
		return led(func() error {
			_, err := fleet.SetAgent(w.ctx(), &vigilv1.SetAgentRequest{Agent: w.slot(slot), Desired: "running", By: "test"})
			return err
		})
	}
}

// led repeats a call of which nothing was executed because no server led: on a busy machine the lead changes.
func led(call func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(30 * time.Millisecond) {
		err := call()
		if err == nil || !strings.Contains(err.Error(), "Nothing was executed: no server leads") || time.Now().After(end) {
			return err
		}
	}
}

// tasker creates a task through one server.
func (w *world) tasker(sv *stand.Server, role string) func() error {
	fleet := vigilv1.NewFleetClient(w.at(sv))
	return func() error {
		return led(func() error {
			_, err := fleet.CreateTask(w.ctx(), &vigilv1.CreateTaskRequest{Room: w.name, Role: role, Title: "a task",
				By: "test"})
			return err
		})
	}
}

// I49, duplicate spawn: whoever asks for a start, and through whichever server, only
// makes it wanted; one planner orders one next life (law L4).
func TestI49ThreeAskForOneStart(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 1, "", onDemand, lasting(10*time.Second)))
	ask := []func() error{w.tasker(w.Servers[0], "work"), w.starter(w.Servers[1], "work"),
		w.starter(w.Servers[2], "work"), w.tasker(w.Servers[2], "work")}
	together(t, ask...)
	first := w.runs(1)["work"]
	if err := w.host(first.Host).Signal(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	together(t, ask...)
	second := w.next("work", first.Incarnation)
	together(t, ask...)
	always(t, 2*time.Second, "it lives twice in all", func() error {
		if n := len(w.lives("work")); n != 2 || second.Incarnation != first.Incarnation+1 {
			return fmt.Errorf("%d lives, the newest is %d, the first was %d", n, second.Incarnation, first.Incarnation)
		}
		return nil
	})
	for _, sv := range w.Servers {
		var a *vigilv1.GetAgentResponse
		err := led(func() (err error) {
			a, err = vigilv1.NewFleetClient(w.at(sv)).GetAgent(w.ctx(), &vigilv1.GetAgentRequest{Agent: w.slot("work")})
			return err
		})
		if err != nil || a.GetAgent().GetIncarnationRaw() != second.Incarnation {
			t.Errorf("server %s tells of life %d (%v), want %d", sv.Name, a.GetAgent().GetIncarnationRaw(),
				err, second.Incarnation)
		}
	}
}

// I51, duplicate spawn: orders are state, not messages. A host that hears every one
// of them twice accepts each once (law L4).
func TestI51OrdersThatArriveTwice(t *testing.T) {
	w := fleet(t)
	p := newPostman(t)
	p.twice = true
	for _, h := range w.Hosts {
		p.between(w, h.Machine)
	}
	w.settled()
	const agents = 100
	w.room(role("work", agents, "", lasting(20*time.Second)))
	w.runs(agents)
	if n := len(w.lives("")); n != agents {
		t.Errorf("%d starts for %d agents", n, agents)
	}
	if p.counted(p.doubled, "Stream") == 0 {
		t.Error("no order was doubled: nothing was tried")
	}
}

// I52, lost reply: everything that a host or an agent says is safe to say again, by
// incarnation or by write id. The answer to a repeated call is the first one, on
// every server and after a fail-over (laws L4, L8).
func TestI52LostReplies(t *testing.T) {
	w := fleet(t)
	p := newPostman(t)
	heard := map[string]bool{}
	p.lose = func(method string, request []byte) bool {
		key := method + string(request)
		first := !heard[key]
		heard[key] = true
		return first && !strings.HasSuffix(method, "HostAgent/Stream")
	}
	p.between(w, w.Hosts[0].Machine)
	w.room(role("work", 2, "", on(w.Hosts[0]), lasting(10*time.Second)),
		role("hand", 1, "", byHand, lasting(30*time.Second)))
	w.runs(2)
	for range 4 {
		w.task("work", "")
	}
	w.eventually("all tasks are done", func() error {
		if n := len(w.events("task.completed")); n != 4 {
			return fmt.Errorf("%d are; %s", n, w.describe())
		}
		return nil
	})
	if claims, starts := w.events("task.claimed"), w.lives(""); len(claims) != 4 || len(starts) != 2 {
		t.Errorf("%d claims of 4 tasks, %d starts of 2 agents: %v", len(claims), len(starts), claims)
	}
	for _, method := range []string{"AcceptOrder", "ReportStarted", "Join", "Wait", "CompleteTask"} {
		if p.counted(p.lost, method) == 0 {
			t.Errorf("no answer to %s was lost: nothing was tried", method)
		}
	}
	w.retryEverywhere()
}

// retryEverywhere claims a task and restarts an agent, with the same write ids
// through every server and after a fail-over.
func (w *world) retryEverywhere() {
	w.t.Helper()
	session, err := w.work.OpenSession(w.ctx(), &vigilv1.OpenSessionRequest{Client: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	joined, err := w.work.Join(w.ctx(), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: w.slot("hand")}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.task("hand", "")
	w.task("hand", "")
	claim := &vigilv1.ClaimRequest{Speaker: &vigilv1.Speaker{Agent: w.slot("hand"),
		Incarnation: joined.GetIncarnation()},
		Id: &vigilv1.WriteId{Session: session.GetSession(), Seq: 1}}
	restart := &vigilv1.RestartAgentRequest{Agent: w.slot("work"), By: "test",
		Id: &vigilv1.WriteId{Session: session.GetSession(), Seq: 2}}
	before := w.agent("work").GetIncarnationRaw()
	var first *vigilv1.ClaimResponse
	try := func(sv *stand.Server) {
		w.t.Helper()
		w.eventually("claim and restart are answered by "+sv.Name, func() error {
			conn := w.at(sv)
			claimed, err := vigilv1.NewWorkClient(conn).Claim(w.ctx(), claim)
			if err == nil {
				_, err = vigilv1.NewFleetClient(conn).RestartAgent(w.ctx(), restart)
			}
			if first == nil {
				first = claimed
			}
			if err == nil && (claimed.GetTask().GetId() != first.GetTask().GetId() ||
				claimed.GetAttempt() != first.GetAttempt() || claimed.GetIndex() != first.GetIndex()) {
				w.t.Fatalf("%s answers task %d, attempt %d, index %d; the first answer was %d, %d, %d",
					sv.Name, claimed.GetTask().GetId(), claimed.GetAttempt(), claimed.GetIndex(),
					first.GetTask().GetId(), first.GetAttempt(), first.GetIndex())
			}
			return err
		})
	}
	for _, sv := range w.Servers {
		try(sv)
	}
	w.next("work", before)
	lead := w.leader()
	w.killServer(lead)
	for _, sv := range w.Servers {
		if sv != lead {
			try(sv)
		}
	}
	always(w.t, time.Second, "it was restarted once", func() error {
		if n := len(w.events("agent.restarted")); n != 1 {
			return fmt.Errorf("%d times", n)
		}
		return nil
	})
	if n := len(w.lives("work")); n != 2 {
		w.t.Errorf("%d lives after one restart", n)
	}
}

// I53, a start that takes long is no failure: an order that its host has accepted is
// that host's until it says what became of it or its fence ends; one that it has not
// accepted is withdrawn, and accepting it afterwards is refused.
func TestI53SlowStartIsNoFailure(t *testing.T) {
	w := fleet(t)
	w.set(map[string]string{"accept_limit": "1s"})
	long := lasting(20 * time.Second)
	slow := role("slow", 1, "slow-start=2s", on(w.Hosts[1]), long)
	w.room(slow)
	task := w.task("slow", "")
	w.taskIs(task, vigilv1.TaskState_COMPLETED)
	if lives := w.lives("slow"); len(lives) != 1 || w.agent("slow").GetFailures() != 0 {
		t.Errorf("%d starts, %d failures", len(lives), w.agent("slow").GetFailures())
	}

	// The host has accepted, but does not hear it.
	p := newPostman(t)
	silence := make(chan struct{})
	p.lose = func(method string, _ []byte) bool {
		select {
		case <-silence:
			return false
		default:
			return strings.HasSuffix(method, "/AcceptOrder")
		}
	}
	p.between(w, w.Hosts[0].Machine)
	w.settled()
	w.room(slow, role("unsure", 1, "", on(w.Hosts[0]), long))
	w.eventually("the order is accepted", func() error {
		if a := w.agent("unsure"); a.GetProcess() != "accepted" {
			return errors.New(a.GetProcess())
		}
		return nil
	})
	ordered := w.agent("unsure").GetIncarnationRaw()
	always(t, 2*time.Second, "nobody starts it again", func() error {
		if a := w.agent("unsure"); a.GetProcess() != "accepted" || a.GetIncarnationRaw() != ordered ||
			a.GetWhyCode() != "starting" || len(w.lives("unsure")) > 0 {
			return fmt.Errorf("%s, life %d, %s, %d lives", a.GetProcess(), a.GetIncarnationRaw(),
				a.GetWhyCode(), len(w.lives("unsure")))
		}
		return nil
	})
	close(silence)
	if l := w.runs(2)["unsure"]; l.Incarnation != ordered || len(w.lives("unsure")) != 1 {
		t.Errorf("it runs as life %d after %d starts", l.Incarnation, len(w.lives("unsure")))
	}

	// The host hears of the order only when it has been withdrawn.
	w.cast(w.Hosts[2].Machine, stand.Spell{HoldIn: true})
	w.room(slow, role("unsure", 1, "", on(w.Hosts[0]), long), role("withdrawn", 1, "", on(w.Hosts[2]), long))
	w.sees("order.canceled", "withdrawn", 0)
	w.cast(w.Hosts[2].Machine, stand.Spell{})
	w.runs(3)
	if lives := w.lives("withdrawn"); len(lives) != 1 {
		t.Errorf("%d starts of an agent whose first order was withdrawn", len(lives))
	}
}
