//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// ownProof declares that agents beat by themselves.
func ownProof(r *vigilv1.RoleSpec) { r.Proof = "agent" }

// holder waits until somebody holds a task, and gives its agent's slot.
func (w *world) holder(task uint64) string {
	w.t.Helper()
	got := w.taskIs(task, vigilv1.TaskState_ACKNOWLEDGED, vigilv1.TaskState_IN_PROGRESS)
	return got.GetHolder()[len(w.name)+1:]
}

// I04, a fresh claim that inherits the age of the last one: the second holder of a
// task has the whole lease from its claim on, and is not touched, although the first
// one was silent for long (law L6).
func TestI04ClaimInheritsNoAge(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 2, "", ownProof, func(r *vigilv1.RoleSpec) { r.StartLimit = seconds(4) }))
	before := w.runs(2)
	task := w.task("work", "quiet=3s")
	first := w.holder(task)
	h := w.host(before[first].Host)
	w.freeze(h.Machine, w.resident(h, first).PID)
	var second string
	w.eventually("the other one has the task", func() error {
		if second = w.holder(task); second == first {
			return errors.New(w.describe())
		}
		return nil
	})
	w.taskIs(task, vigilv1.TaskState_COMPLETED)
	w.next(first, before[first].Incarnation)
	if l := w.life(before[second]); l.Term != 0 || l.Exit != 0 || len(w.lives(second)) != 1 {
		t.Errorf("the second holder was touched: %+v; %d lives", l, len(w.lives(second)))
	}
	for _, e := range w.events("agent.lease_ended", "order.stop") {
		if e.GetAgent() != w.slot(first) {
			t.Errorf("%s %s: %s", e.GetKind(), e.GetAgent(), e.GetText())
		}
	}
}

// I05, signs of life that are none: what is written to the log of a dead agent, and to
// that of one that hangs, renews nothing. Its process and its beats decide, and the task
// goes on in the next life (law L1).
func TestI05LogOfTheDeadIsNoSignOfLife(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 1, ""), role("mute", 1, "", ownProof, func(r *vigilv1.RoleSpec) { r.StartLimit = seconds(4) }))
	before := w.runs(2)
	task := w.task("work", "busy=300s")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	var logs []string
	for slot, l := range before {
		logs = append(logs, filepath.Join(w.host(l.Host).Data, "logs", w.name, slot+".log"))
		if _, err := os.Stat(logs[len(logs)-1]); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, log := range logs {
				if f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0); err == nil {
					_, _ = f.WriteString("the last words of the dead\n") // it may have been rotated away
					_ = f.Close()
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(ttl / 4):
			}
		}
	}()
	defer func() { close(stop); <-done }()
	mute := w.host(before["mute"].Host)
	w.freeze(mute.Machine, w.resident(mute, "mute").PID)
	w.kill(w.host(before["work"].Host).Machine, before["work"].PID)
	w.next("work", before["work"].Incarnation)
	w.next("mute", before["mute"].Incarnation)
	w.eventually("the task is with the next life", func() error {
		got, err := w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: task})
		if err != nil {
			return err
		}
		if got.GetAttempt() < 2 {
			return fmt.Errorf("%s, attempt %d", got.GetState(), got.GetAttempt())
		}
		return nil
	})
	w.closeTask(task)
}

// I07, reaps after each restart of the supervisor: agents outlive an agentd that is
// killed ten times at random moments, in the same processes (law L10).
func TestI07SupervisorRestartsReapNobody(t *testing.T) {
	w := fleet(t)
	const agents = 20
	h := w.Hosts[1]
	w.room(role("work", agents, "", on(h), lasting(3*ttl)))
	before := w.runs(agents)
	r := rand.New(rand.NewPCG(7, 7))
	for range 10 {
		if err := h.Kill(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.IntN(600)) * time.Millisecond)
	}
	w.settled()
	same(t, before, w.runs(agents))
	if n := len(w.lives("")); n != agents {
		t.Errorf("%d lives of %d agents", n, agents)
	}
}

// I09, judged before it exists: an agent that takes long to come up is starting all
// the time, never dead, and has one life.
func TestI09StartingIsNotDead(t *testing.T) {
	w := peaceful(t)
	w.room(role("work", 1, "slow-start=6s"))
	w.eventually("its process runs", func() error {
		if a := w.agent("work"); a.GetProcess() != "running" {
			return errors.New(w.describe())
		}
		return nil
	})
	w.eventually("it joins", func() error {
		a := w.agent("work")
		if a.GetProcess() != "running" || a.GetFailures() != 0 || a.GetLastExit() != nil {
			t.Fatalf("it was taken for dead: %s", w.describe())
		}
		if a.GetParticipant() != "WAITING" {
			return errNotYet(a.GetParticipant())
		}
		return nil
	})
	if e := w.events("agent.lease_ended", "agent.fence_ended", "agent.exited", "order.stop"); len(e) > 0 {
		t.Errorf("the history tells otherwise: %v", e)
	}
	if n := len(w.lives("work")); n != 1 {
		t.Errorf("%d lives", n)
	}
}

// cutUntilLost cuts a host off until the fences of the given agents have ended.
func (w *world) cutUntilLost(h *stand.Host, slots ...string) {
	w.t.Helper()
	w.cut(h.Machine, stand.Both)
	for _, slot := range slots {
		w.eventually(slot+" is lost", func() error {
			if w.agent(slot).GetProcess() != "lost" {
				return errors.New(w.describe())
			}
			return nil
		})
	}
}

// I13, a false death that cannot be undone: agents whose beats did not arrive for
// longer than their fence, and which nothing has replaced, go on in the same life as
// soon as they are heard.
func TestI13FalselyDeadGoOn(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("work", 3, "", on(h)))
	before := w.runs(3)
	w.cutUntilLost(h, "work", "work.2", "work.3")
	w.heal(h.Machine)
	same(t, before, w.runs(3))
	if n := len(w.events("agent.adopted")); n < 3 {
		t.Errorf("%d agents were adopted in the history", n)
	}
	task := w.task("work", "")
	w.taskIs(task, vigilv1.TaskState_COMPLETED)
}

// I25, a host that sleeps: after ten leases without a moment of time the agents go on
// in their lives, and nothing is charged to them (laws L7, L10).
func TestI25SleepingHostIsNoCrash(t *testing.T) {
	slow(t, "ten leases asleep")
	w := fleet(t)
	const agents = 10
	h := w.Hosts[2]
	w.room(role("work", agents, "", on(h)))
	before := w.runs(agents)
	began := ledger.Now()
	if err := h.StopAll(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * ttl)
	if err := h.ContinueAll(); err != nil {
		t.Fatal(err)
	}
	w.pauses = append(w.pauses, ledger.Pause{Host: h.Name, From: began, To: ledger.Now()})
	same(t, before, w.runs(agents))
	for _, a := range w.agents() {
		if a.GetFailures() != 0 || a.GetParked() {
			t.Errorf("%s: %d failures, parked: %t", a.GetName(), a.GetFailures(), a.GetParked())
		}
	}
}

// I29, long tool calls: agents that say nothing for ten leases while their processes
// live are disturbed by nothing, and each finishes its task in its first life.
func TestI29LongCallsDisturbNobody(t *testing.T) {
	slow(t, "ten leases of silence")
	w := peaceful(t)
	const agents = 8
	w.room(role("work", agents, ""))
	before := w.runs(agents)
	var tasks []uint64
	for range agents {
		tasks = append(tasks, w.task("work", fmt.Sprintf("quiet=%s", 10*ttl)))
	}
	for _, id := range tasks {
		if got := w.taskIs(id, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 1 {
			t.Errorf("task %d took %d attempts", id, got.GetAttempt())
		}
	}
	same(t, before, w.runs(agents))
	w.noneDied()
}

// I38, an early suspicion that makes a completion worthless: whoever was silent for
// longer than its lease, and was not replaced, may still hand in its work; it counts
// once.
func TestI38SuspectMayFinish(t *testing.T) {
	w := peaceful(t)
	w.room(role("hand", 1, "", byHand))
	a := w.hand("hand")
	task := w.task("hand", "")
	attempt := a.claim(task)
	a.say("start", task, attempt)
	a.silent()
	a.say("complete", task, attempt)
	if got := w.taskIs(task, vigilv1.TaskState_COMPLETED); got.GetAttempt() != attempt {
		t.Errorf("attempt %d, want %d", got.GetAttempt(), attempt)
	}
	if n := len(w.events("task.completed")); n != 1 {
		t.Errorf("%d completions", n)
	}
}

// I161, the sender's time: beats that are the same bytes again and again keep an agent
// alive, because only their arrival counts.
func TestI161SameBytesKeepAlive(t *testing.T) {
	slow(t, "ten leases")
	w := peaceful(t)
	w.room(role("hand", 2, "", byHand))
	live, dead := w.hand("hand"), w.hand("hand.2")
	stop := live.beats()
	dead.silent()
	always(t, 10*ttl, "it is online", func() error {
		if a := w.agent("hand"); a.GetParticipant() == "DISCONNECTED" {
			return fmt.Errorf("%s, %s", a.GetParticipant(), a.GetWhy())
		}
		return nil
	})
	stop()
	live.silent()
}

// I107, beats that make participants: a beat for an agent that nobody declared, or of
// a life that never began, creates and renews nothing.
func TestI107BeatsCreateNobody(t *testing.T) {
	w := peaceful(t)
	w.room(role("hand", 1, "", byHand))
	a := w.hand("hand")
	unknown := &hand{w: w, id: a.id + 1_000_000, speaker: a.speaker}
	never := &hand{w: w, id: a.id, speaker: &vigilv1.Speaker{Agent: a.speaker.GetAgent(),
		Incarnation: a.speaker.GetIncarnation() + 7}}
	if v := unknown.beat(); v != "unknown" {
		t.Errorf("a beat for an unknown agent: %q", v)
	}
	if v := never.beat(); v == "" {
		t.Error("a beat of a life that never began was taken")
	}
	if n := len(w.agents()); n != 1 {
		t.Errorf("%d agents", n)
	}
	if _, err := w.work.Claim(w.ctx(), &vigilv1.ClaimRequest{Speaker: never.speaker}); !errors.Is(err,
		client.ErrSuperseded) && !errors.Is(err, client.ErrRejoin) &&
		!errors.Is(err, client.ErrConflict) && !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a life that never began may claim: %v", err)
	}
}
