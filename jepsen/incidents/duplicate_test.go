//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/jepsen/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
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

// atOnce is how many of the lives ran at the same moment, at most.
func atOnce(lives []*ledger.Life) int {
	type step struct {
		at int64
		by int
	}
	var steps []step
	for _, l := range lives {
		steps = append(steps, step{l.Start, 1}, step{l.Last() + 1, -1})
	}
	slices.SortFunc(steps, func(a, b step) int { return int(max(-1, min(1, a.at-b.at))) })
	most, now := 0, 0
	for _, s := range steps {
		now += s.by
		most = max(most, now)
	}
	return most
}

// starter asks for the start of an agent, through one server.
func (w *world) starter(sv *stand.Server, slot string) func() error {
	fleet := vigilv1.NewFleetClient(w.at(sv))
	return func() error {
		_, err := fleet.SetAgent(w.ctx(), &vigilv1.SetAgentRequest{Agent: w.slot(slot), Desired: "running", By: "test"})
		return err
	}
}

// tasker creates a task through one server.
func (w *world) tasker(sv *stand.Server, role string) func() error {
	fleet := vigilv1.NewFleetClient(w.at(sv))
	return func() error {
		_, err := fleet.CreateTask(w.ctx(), &vigilv1.CreateTaskRequest{Room: w.name, Role: role, Title: "a task", By: "test"})
		return err
	}
}

// I49, duplicate spawn: whoever asks for a start, and through whichever server, only
// makes it wanted; one planner orders one next life (law L4).
func TestI49ThreeAskForOneStart(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 1, "", onDemand))
	ask := []func() error{w.tasker(w.Servers[0], "work"), w.starter(w.Servers[1], "work"), w.starter(w.Servers[2], "work"), w.tasker(w.Servers[2], "work")}
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
		a, err := vigilv1.NewFleetClient(w.at(sv)).GetAgent(w.ctx(), &vigilv1.GetAgentRequest{Agent: w.slot("work")})
		if err != nil || a.GetAgent().GetIncarnationRaw() != second.Incarnation {
			t.Errorf("server %s tells of life %d (%v), want %d", sv.Name, a.GetAgent().GetIncarnationRaw(), err, second.Incarnation)
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
	w.room(role("work", agents, ""))
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
	w.room(role("work", 2, "", on(w.Hosts[0])), role("hand", 1, "", byHand))
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
	claim := &vigilv1.ClaimRequest{Speaker: &vigilv1.Speaker{Agent: w.slot("hand"), Incarnation: joined.GetIncarnation()},
		Id: &vigilv1.WriteId{Session: session.GetSession(), Seq: 1}}
	restart := &vigilv1.RestartAgentRequest{Agent: w.slot("work"), By: "test", Id: &vigilv1.WriteId{Session: session.GetSession(), Seq: 2}}
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
			if err == nil && (claimed.GetTask().GetId() != first.GetTask().GetId() || claimed.GetAttempt() != first.GetAttempt() || claimed.GetIndex() != first.GetIndex()) {
				w.t.Fatalf("%s answers task %d, attempt %d, index %d; the first answer was %d, %d, %d", sv.Name, claimed.GetTask().GetId(),
					claimed.GetAttempt(), claimed.GetIndex(), first.GetTask().GetId(), first.GetAttempt(), first.GetIndex())
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
	long := func(r *vigilv1.RoleSpec) { r.Ttl = durationpb.New(20 * time.Second) }
	w.room(role("slow", 1, "slow-start=3s", on(w.Hosts[1])))
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
	w.room(role("slow", 1, "slow-start=3s", on(w.Hosts[1])), role("unsure", 1, "", on(w.Hosts[0]), long))
	w.eventually("the order is accepted", func() error {
		if a := w.agent("unsure"); a.GetProcess() != "accepted" {
			return errors.New(a.GetProcess())
		}
		return nil
	})
	ordered := w.agent("unsure").GetIncarnationRaw()
	always(t, 3*time.Second, "nobody starts it again", func() error {
		if a := w.agent("unsure"); a.GetProcess() != "accepted" || a.GetIncarnationRaw() != ordered || a.GetWhyCode() != "starting" || len(w.lives("unsure")) > 0 {
			return fmt.Errorf("%s, life %d, %s, %d lives", a.GetProcess(), a.GetIncarnationRaw(), a.GetWhyCode(), len(w.lives("unsure")))
		}
		return nil
	})
	close(silence)
	if l := w.runs(2)["unsure"]; l.Incarnation != ordered || len(w.lives("unsure")) != 1 {
		t.Errorf("it runs as life %d after %d starts", l.Incarnation, len(w.lives("unsure")))
	}

	// The host hears of the order only when it has been withdrawn.
	w.cast(w.Hosts[2].Machine, stand.Spell{HoldIn: true})
	w.room(role("slow", 1, "slow-start=3s", on(w.Hosts[1])), role("unsure", 1, "", on(w.Hosts[0]), long), role("withdrawn", 1, "", on(w.Hosts[2])))
	w.sees("order.canceled", "withdrawn", 0)
	w.cast(w.Hosts[2].Machine, stand.Spell{})
	w.runs(3)
	if lives := w.lives("withdrawn"); len(lives) != 1 {
		t.Errorf("%d starts of an agent whose first order was withdrawn", len(lives))
	}
}

// I55, reclaim without kill: the life whose task is taken back is ended first, with
// SIGKILL when it traps SIGTERM, and only its exit report makes the next start due.
// A host that does not end it keeps the slot taken. The task that costs lives is set
// aside at its kill limit.
func TestI55ReclaimedTaskWaitsForTheOldWorker(t *testing.T) {
	w := fleet(t)
	limits := func(r *vigilv1.RoleSpec) { r.TurnLimit, r.KillLimit = durationpb.New(500*time.Millisecond), 3 }
	w.room(role("work", 1, "trap-term", limits))
	first := w.runs(1)["work"]
	task := w.taskIs(w.task("work", "hang"), vigilv1.TaskState_QUARANTINED, vigilv1.TaskState_FAILED)
	last := w.next("work", first.Incarnation+2)
	lives := w.lives("work")
	if len(lives) != 4 {
		t.Errorf("%d lives for a task with kill limit 3 (%s, %d kills)", len(lives), task.GetState(), task.GetKills())
	}
	for i := 1; i < len(lives); i++ {
		if old, now := lives[i-1], lives[i]; old.Term == 0 || old.Gone == 0 || now.Start < old.Gone {
			t.Errorf("life %d began at %d; life %d was told to end at %d and was gone at %d", now.Incarnation, now.Start, old.Incarnation, old.Term, old.Gone)
		}
	}

	// The host cannot end it: nothing there may act.
	h := w.host(last.Host)
	residents, err := h.Residents()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(residents, func(r stand.Resident) bool { return r.PID == last.PID })
	if i < 0 || residents[i].Shim == 0 {
		t.Fatalf("%s has no shim: %v", last.File, residents)
	}
	if err := h.Signal(residents[i].Shim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw := sync.OnceFunc(func() { _ = h.Signal(residents[i].Shim, syscall.SIGCONT) }) // it may be gone
	t.Cleanup(thaw)
	if _, err := w.fleet.RestartAgent(w.ctx(), &vigilv1.RestartAgentRequest{Agent: w.slot("work"), By: "test"}); err != nil {
		t.Fatal(err)
	}
	always(t, 2*ttl, "no other life begins", func() error {
		if n := len(w.lives("work")); n != len(lives) {
			return fmt.Errorf("%d lives: %s", n, w.describe())
		}
		return nil
	})
	if a := w.agent("work"); a.GetWhyCode() != "stopping" && a.GetWhyCode() != "unkillable" {
		t.Errorf("why does it not run: %s, %s", a.GetWhyCode(), a.GetWhy())
	}
	thaw()
	if now := w.next("work", last.Incarnation); now.Start < w.gone(last).Gone {
		t.Errorf("life %d began before life %d was gone", now.Incarnation, last.Incarnation)
	}
}

// I56, duplicate after fail-over: a new leader reads from the log what the old one
// has ordered. Kill the leader at random moments of restarts: no two lives of one
// agent overlap (law L7, judged for every test), and every agent comes back.
func TestI56LeaderDiesDuringRestarts(t *testing.T) {
	w := fleet(t)
	const agents, rounds = 10, 5 // 50 restarts
	w.room(role("single", agents, ""))
	before := w.runs(agents)
	for range rounds {
		for name := range before {
			_, err := w.fleet.RestartAgent(w.ctx(), &vigilv1.RestartAgentRequest{Agent: w.slot(name), By: "test"})
			if err != nil && !errors.Is(err, client.ErrConflict) {
				t.Fatal(err)
			}
		}
		lead := w.leader()
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		start := w.killServer(lead)
		w.eventually("every agent lives its next life", func() error {
			now := w.runs(agents)
			for name, l := range before {
				if now[name].Incarnation <= l.Incarnation {
					return fmt.Errorf("%s lives life %d", name, now[name].Incarnation)
				}
			}
			before = now
			return nil
		})
		start()
	}
	if n := len(w.lives("")); n < agents*(rounds+1) {
		t.Errorf("%d lives: not every restart took place", n)
	}
}

// I59, duplicate daemon: the data directory is locked by the kernel for as long as
// its holder lives, and by nobody afterwards. Who comes second ends with the number
// of the holder.
func TestI59TwentyDaemonsOneDirectory(t *testing.T) {
	w := fleet(t)
	h := w.extra("twins", 51, 4)
	const daemons = 20
	all := make([]*stand.Process, daemons)
	calls := make([]func() error, daemons)
	for i := range all {
		calls[i] = func() (err error) { all[i], err = h.StartBeside(fmt.Sprint("agentd-", i)); return err }
	}
	together(t, calls...)
	holder := w.oneOf(h, all)
	w.room(role("work", 1, "", on(h)))
	before := w.runs(1)["work"]
	if err := holder.Kill(); err != nil {
		t.Fatal(err)
	}
	together(t, calls...) // no lock of a dead process is in the way
	w.oneOf(h, all)
	if after := w.runs(1)["work"]; after.PID != before.PID {
		t.Errorf("agent's process %d became %d", before.PID, after.PID)
	}
}

// oneOf waits until one daemon is left, which serves, and looks what the others said.
func (w *world) oneOf(h *stand.Host, all []*stand.Process) *stand.Process {
	w.t.Helper()
	var left []*stand.Process
	w.eventually("one daemon is left", func() error {
		left = nil
		for _, p := range all {
			select {
			case <-p.Done():
			default:
				left = append(left, p)
			}
		}
		if len(left) != 1 {
			return fmt.Errorf("%d are", len(left))
		}
		return nil
	})
	for i, p := range all {
		text := w.log(h.Name, fmt.Sprint("agentd-", i))
		if p != left[0] && (p.Code() <= 0 || !strings.Contains(text, fmt.Sprintf("(pid %d)", left[0].PID))) {
			w.t.Errorf("daemon %d ended with %d, the holder is %d: %s", i, p.Code(), left[0].PID, text)
		}
	}
	w.eventually("it serves", func() error {
		if got := w.hostState(h).GetState(); got != "ready" {
			return errors.New(got)
		}
		return nil
	})
	return left[0]
}

// I61, local view taken as truth: an agentd that starts with an empty memory speaks
// for the agents of its own host alone, and finds those from their shims.
func TestI61RestartedDaemonSpeaksForItself(t *testing.T) {
	w := fleet(t)
	w.room(role("mine", 2, "", on(w.Hosts[0])), role("others", 2, "", on(w.Hosts[1])))
	before := w.runs(4)
	const registered = "host registered"
	times := strings.Count(w.log("h1", "agentd"), registered)
	w.killHost(w.Hosts[0])()
	w.eventually("agentd is back", func() error {
		if strings.Count(w.log("h1", "agentd"), registered) == times {
			return errors.New("it has not registered")
		}
		return nil
	})
	always(t, 2*time.Second, "every agent goes on", func() error {
		for name, l := range before {
			if a := w.agent(name); a.GetIncarnationRaw() != l.Incarnation || int(a.GetPid()) != l.PID || a.GetProcess() != "running" || a.GetParticipant() != "WAITING" {
				return fmt.Errorf("%s was life %d: %s", name, l.Incarnation, w.describe())
			}
		}
		return nil
	})
	if e := w.events("agent.exited", "agent.fence_ended", "agent.lease_ended"); len(e) > 0 {
		t.Errorf("ends were reported: %v", e)
	}
	w.runs(4)
}

// I63, cap not enforced: agents are slots of a role, so that no number of tasks, no
// server and no fail-over makes more of them; all tasks are done, once each (law L8).
func TestI63CapWithFiftyTasks(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 4, "", onDemand))
	const tasks = 50
	var creators []func() error
	for range tasks {
		creators = append(creators, func() error {
			_, err := w.fleet.CreateTask(w.ctx(), &vigilv1.CreateTaskRequest{Room: w.name, Role: "work", Title: "a task", Text: "quiet=100ms", By: "test"})
			return err
		})
	}
	lead := w.leader()
	together(t, append(creators, func() error {
		time.Sleep(20 * time.Millisecond) // some are created before, some after
		w.killServer(lead)
		return nil
	})...)
	w.eventually("all tasks are done", func() error {
		done := w.events("task.completed")
		if len(done) < tasks {
			return fmt.Errorf("%d of %d; %s", len(done), tasks, w.describe())
		}
		return nil
	})
	if n := atOnce(w.lives("")); n > 4 || n < 2 {
		t.Errorf("%d lives at once, want 2 to 4", n)
	}
	once := map[uint64]int{}
	for _, e := range w.events("task.completed") {
		once[e.GetTask()]++
	}
	if len(once) != tasks {
		t.Errorf("%d tasks were completed, want %d", len(once), tasks)
	}
}

// I65, duplicate after a restart of the coordinators: claims are in the log. Agents
// that work while all servers are away finish what they have, in the same life (L10).
func TestI65AllServersRestart(t *testing.T) {
	w := fleet(t)
	const tasks = 20
	w.room(role("work", tasks, ""))
	before := w.runs(tasks)
	for range tasks {
		w.task("work", "quiet=4s")
	}
	w.eventually("all tasks are in progress", func() error {
		if n := len(w.events("task.started")); n != tasks {
			return fmt.Errorf("%d are; %s", n, w.describe())
		}
		return nil
	})
	var starts []func()
	for _, sv := range w.Servers {
		starts = append(starts, w.killServer(sv))
	}
	for _, start := range starts {
		start()
	}
	w.eventually("all tasks are done", func() error {
		if n := len(w.events("task.completed")); n != tasks {
			return fmt.Errorf("%d are; %s", n, w.describe())
		}
		return nil
	})
	for _, e := range w.events("task.completed") {
		if e.GetAttempt() != 1 {
			t.Errorf("task %d was completed in attempt %d", e.GetTask(), e.GetAttempt())
		}
	}
	for name, l := range w.runs(tasks) {
		if l.Incarnation != before[name].Incarnation {
			t.Errorf("%s lives life %d, was %d", name, l.Incarnation, before[name].Incarnation)
		}
	}
}

// I151, cap blind to some launch paths: there is one way to a process, an order that
// is counted on its host before it exists. Whatever asks for agents, a host of four
// never has five, and says how many it has.
func TestI151EveryWayCountsAgainstTheCap(t *testing.T) {
	w := fleet(t)
	const room = 4
	h := w.extra("small", 52, room)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	with := func(name string) func(*vigilv1.RoleSpec) { return func(r *vigilv1.RoleSpec) { r.Runner = name } }
	w.room(role("always", 2, "", on(h)), role("asked", 2, "", on(h), onDemand), role("terminal", 2, "", on(h), with("pty")),
		role("shown", 2, "", on(h), with("tmux")))
	var ask []func() error
	for i := range 8 {
		ask = append(ask, w.tasker(w.Servers[i%3], "asked"), w.starter(w.Servers[i%3], []string{"always", "asked.2", "terminal", "shown.2"}[i%4]))
	}
	together(t, ask...)
	within := func() error {
		got := w.hostState(h)
		if n := got.GetRunning() + got.GetStarting(); n > room {
			return fmt.Errorf("%d of %d are counted", n, room)
		}
		residents, err := h.Residents()
		if err != nil || len(residents) > room {
			return fmt.Errorf("%d of %d run: %w", len(residents), room, err)
		}
		return nil
	}
	w.runs(room)
	for name := range w.runs(room) {
		_, err := w.fleet.RestartAgent(w.ctx(), &vigilv1.RestartAgentRequest{Agent: w.slot(name), By: "test"})
		if err != nil && !errors.Is(err, client.ErrConflict) {
			t.Fatal(err)
		}
	}
	always(t, 3*time.Second, "the cap holds", within)
	w.runs(room)
	if n := atOnce(w.lives("")); n != room {
		t.Errorf("%d lives at once, want %d", n, room)
	}
	for _, a := range w.agents() {
		if a.GetProcess() == "none" && (a.GetWhyCode() != "no_host" || !strings.Contains(a.GetWhy(), "full")) && a.GetWhyCode() != "no_task" {
			t.Errorf("%s does not run because of %s: %s", a.GetName(), a.GetWhyCode(), a.GetWhy())
		}
	}
}
