//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/jepsen/stand/boxwords"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// calm is how long nothing may happen where a row says so.
const calm = 3 * time.Second

// I81, intentional stop not respected: what a human stopped, and what only a closed
// task had wanted, stays down through restarts of the daemon, the host and the leader.
func TestI81StoppedAndClosedStayDown(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("still", 1, "", on(h)), role("closed", 1, "", on(h), onDemand), role("canary", 1, "", on(h)))
	w.runs(2)
	task := w.task("closed", "busy=1m,crash=1500ms")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	w.closeTask(task)
	w.ends("closed")
	if out, code := w.vigil("agent", "stop", w.slot("still"), "--why", "not this week"); code != 0 {
		t.Fatal(out)
	}
	w.ends("still")
	was := map[string]int{"still": len(w.lives("still")), "closed": len(w.lives("closed"))}
	life := w.next("canary", 0)

	w.killHost(h)() // the daemon ...
	w.settled()
	w.powerCycle(h) // ... the host ...
	life = w.next("canary", life.Incarnation)
	w.killServer(w.leader())() // ... and the leader
	w.settled()

	always(t, calm, "what is down stays down", func() error {
		for name, n := range was {
			if now := len(w.lives(name)); now != n {
				return fmt.Errorf("%s has %d lives, it had %d; %s", name, now, n, w.describe())
			}
		}
		return nil
	})
	if a := w.agent("still"); a.GetDesired() != "stopped" || a.GetIntentBy() == "" ||
		a.GetIntentWhy() != "not this week" {
		t.Errorf("still is %s by %q (%s)", a.GetDesired(), a.GetIntentBy(), a.GetIntentWhy())
	}
	if a := w.agent("closed"); a.GetWhyCode() != "no_task" {
		t.Errorf("closed: %s", a.GetWhy())
	}
	if now := w.next("canary", 0); now.File != life.File {
		t.Error("the loss of the leader started an agent anew")
	}
}

// I82, shutdown race: a stop holds whatever phase of a start it meets. What no host
// had accepted yet is never started, what was started is ended, and nothing follows.
func TestI82StopMeetsStarts(t *testing.T) {
	w := fleet(t)
	const many = 20
	w.room(role("work", many, "", func(r *vigilv1.RoleSpec) { r.Desired = "stopped" }))
	var names []string
	for _, a := range w.agents() {
		names = append(names, a.GetName())
	}
	for _, phase := range []time.Duration{0, 60 * time.Millisecond, 250 * time.Millisecond, -1} {
		if phase < 0 { // the orders are on their way for longer than the stop
			for _, h := range w.Hosts {
				w.cast(h.Machine, stand.Spell{HoldIn: true})
			}
		}
		w.room(role("work", many, ""))
		for _, name := range names {
			w.desire(name, "running")
		}
		time.Sleep(max(0, phase))
		if out, code := w.vigil(append([]string{"agent", "stop"}, names...)...); code != 0 {
			t.Fatal(out)
		}
		at, accepted := ledger.Now(), map[string]uint64{}
		for _, a := range w.agents() {
			if a.GetProcess() != "none" {
				accepted[a.GetName()] = a.GetIncarnationRaw()
			}
		}
		for _, h := range w.Hosts {
			w.cast(h.Machine, stand.Spell{})
		}
		for _, name := range names {
			w.ends(strings.TrimPrefix(name, w.name+"/"))
		}
		ended := ledger.Now()
		always(t, calm/3, "nothing starts", func() error {
			for _, l := range w.lives("") {
				if l.Last() > ended {
					return fmt.Errorf("life %s runs after its end", l.File)
				}
				if l.Start > at && l.Incarnation != accepted[l.Agent] {
					return fmt.Errorf("life %s began %s after the stop", l.File, time.Duration(l.Start-at))
				}
			}
			return nil
		})
		t.Logf("phase %s: %d were on their way, %d lives so far", phase, len(accepted), len(w.lives("")))
	}
}

// I83, late heartbeat resurrects: beats of a life that was stopped change nothing,
// whether it is still ending or gone; the sender is told to end.
func TestI83LateBeatsDoNotRevive(t *testing.T) {
	w := fleet(t)
	w.room(role("managed", 1, "trap-term", func(r *vigilv1.RoleSpec) {
		r.Ttl, r.StopGrace = seconds(8), seconds(2)
	}), role("hand", 1, "", byHand))
	worker := w.joins("hand")
	w.runs(2 - 1)
	was := w.agent("managed")
	for _, name := range []string{"managed", "hand"} {
		w.desire(w.slot(name), "stopped")
	}
	late := func(a *vigilv1.Agent, want ...string) {
		t.Helper()
		for range 10 {
			var answer *vigilv1.BeatResponse
			// While the leader changes none is, and nothing is lost by another.
			w.eventually("a beat is answered", func() (err error) {
				answer, err = w.work.Beat(w.ctx(), &vigilv1.BeatRequest{Agents: []uint32{a.GetId()},
					Incarnations: []uint64{a.GetIncarnationRaw()}, Kinds: []uint32{client.BeatLease}})
				return err
			})
			verdict := "" // it is current
			for _, x := range answer.GetExceptions() {
				verdict = x.GetVerdict()
			}
			if !slices.Contains(want, verdict) {
				t.Errorf("%s: a beat was answered with verdict %q, want one of %q", a.GetName(), verdict, want)
			}
		}
	}
	// It ends, and its host renews what it must as long as it traps SIGTERM. These beats
	// come without its token: they are nobody's.
	late(was, "denied", "superseded")
	if a := w.agent("managed"); a.GetOrder() != "stop" && a.GetProcess() != "none" ||
		a.GetIncarnationRaw() != was.GetIncarnationRaw() {
		t.Errorf("a beat changed an agent that is being stopped: %s", w.describe())
	}
	w.ends("managed")
	late(was, "superseded")

	w.ends("hand")
	hand := w.agent("hand")
	late(&vigilv1.Agent{Name: hand.GetName(), Id: worker.ID(), IncarnationRaw: worker.Incarnation()}, "rejoin")
	w.eventually("the worker is told", func() error {
		if err := worker.Context().Err(); err == nil {
			return errors.New("it goes on")
		}
		return nil
	})
	if _, err := w.work.Join(w.ctx(), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: w.slot("hand"),
		Incarnation: worker.Incarnation()}}); !errors.Is(err, client.ErrStopped) {
		t.Errorf("to join again was answered with %v", err)
	}
	for _, name := range []string{"managed", "hand"} {
		if a := w.agent(name); a.GetProcess() != "none" || a.GetParticipant() != "DISCONNECTED" ||
			a.GetWhyCode() != "stopped" || a.GetOrder() != "none" {
			t.Errorf("beats revived something: %s", w.describe())
		}
	}
	if n := len(w.lives("")); n != 1 {
		t.Errorf("%d lives", n)
	}
}

// I85, tombstone missing: an agent that was deleted while its host was cut off stays
// deleted when the host comes back with its process; the process is ended.
func TestI85DeletedStaysDeleted(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[1]
	before := w.status().GetAgents()
	w.room(role("gone", 2, "", on(h)))
	lives := w.runs(2)
	w.cut(h.Machine, stand.Both)
	if _, err := w.fleet.DeleteRoom(w.ctx(), &vigilv1.DeleteRoomRequest{Room: w.name, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	deleted := func() error {
		_, err := w.fleet.GetRoom(w.ctx(), &vigilv1.GetRoomRequest{Room: w.name})
		if !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), "deleted by alice") {
			return fmt.Errorf("the room is there: %v", err)
		}
		return nil
	}
	w.eventually("the room is gone, its agents with it", deleted)
	deletedAt := ledger.Now()
	w.heal(h.Machine)
	w.settled()
	for _, l := range lives {
		if end := w.gone(l); end.Last() > deletedAt {
			t.Errorf("life %s ran on after its end", l.File)
		}
	}
	always(t, calm/2, "nothing comes back", func() error {
		if got := w.status().GetAgents(); got != before {
			return fmt.Errorf("%d agents, there were %d", got, before)
		}
		return deleted()
	})
	w.eventually("nothing is left on the host", func() error {
		list, err := h.Residents()
		if err == nil && len(list) > 0 {
			err = fmt.Errorf("these are: %v", list)
		}
		return err
	})
	for _, n := range []string{"gone", "gone.2"} {
		if got := len(w.lives(n)); got != 1 {
			t.Errorf("%s had %d lives", n, got)
		}
	}
}

// I143, cancel not durable: a cancel that was acknowledged holds although the leader
// is lost at once; whoever works on the task is told once, and goes on with others.
func TestI143CancelOutlivesTheLeader(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 1, ""))
	life := w.runs(1)["work"]
	task := w.task("work", "busy=2m")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	lead := w.leader()
	w.closeTask(task)
	start := w.killServer(lead)
	at := w.seen

	next := w.task("work", "")
	w.taskIs(next, vigilv1.TaskState_COMPLETED)
	start()
	w.settled()
	for _, sv := range w.Servers {
		var got *vigilv1.Task
		err := led(func() (err error) {
			got, err = vigilv1.NewFleetClient(w.at(sv)).GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: task})
			return err
		})
		if err != nil || got.GetState() != vigilv1.TaskState_CANCELED || got.GetAttempt() != 1 {
			t.Errorf("%s: the task is %s, attempt %d, %v", sv.Name, got.GetState(), got.GetAttempt(), err)
		}
	}
	canceled := 0
	for _, e := range w.events("task.canceled", "agent.exited", "agent.left", "agent.lease_ended") {
		if e.GetKind() != "task.canceled" || e.GetSeq() <= at {
			t.Errorf("%s %s: %s", e.GetKind(), e.GetAgent(), e.GetText())
			continue
		}
		canceled++
	}
	if canceled != 1 {
		t.Errorf("%d cancels were written", canceled)
	}
	lives := w.lives("work")
	if len(lives) != 1 || lives[0].File != life.File {
		t.Fatalf("%d lives", len(lives))
	}
	if !slices.ContainsFunc(lives[0].Said, func(s ledger.Said) bool {
		return s.What == "complete" &&
			s.Task == next
	}) ||
		slices.ContainsFunc(lives[0].Said, func(s ledger.Said) bool { return s.What == "complete" && s.Task == task }) {
		t.Errorf("it said %v", lives[0].Said)
	}
}

// I145, restart of a busy agent by configuration: a changed role, or a changed
// daemon, interrupts nobody. The new values hold from the next start on, which a
// human asks for, for those agents alone.
func TestI145ConfigurationInterruptsNobody(t *testing.T) {
	w := fleet(t)
	w.room(role("others", 7, "", lasting(patience)), role("changed", 3, "", lasting(patience)))
	before := w.runs(10)
	var tasks []uint64
	for i := range 10 {
		tasks = append(tasks, w.task([]string{"others", "changed"}[i/7], "busy=6s"))
	}
	for _, id := range tasks {
		w.taskIs(id, vigilv1.TaskState_IN_PROGRESS, vigilv1.TaskState_COMPLETED)
	}
	w.room(role("others", 7, "", lasting(patience)),
		role("changed", 3, "ok", func(r *vigilv1.RoleSpec) { r.Ttl = seconds(90) }))
	for _, h := range w.Hosts {
		if err := h.Configure(60); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { restore(t, w, h) })
		w.replaceDaemon(h)
	}
	w.settled()
	for _, id := range tasks {
		if got := w.taskIs(id, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 1 {
			t.Errorf("task %d took %d attempts", id, got.GetAttempt())
		}
	}
	same(t, before, w.runs(10))

	args := []string{"agent", "restart"}
	for _, name := range []string{"changed", "changed.2", "changed.3"} {
		args = append(args, w.slot(name))
	}
	if out, code := w.vigil(args...); code != 0 {
		t.Fatal(out)
	}
	for _, name := range []string{"changed", "changed.2", "changed.3"} {
		l := w.next(name, before[name].Incarnation)
		if lives := w.lives(name); len(lives) != 2 {
			t.Errorf("%s has %d lives", name, len(lives))
		}
		list, err := w.host(l.Host).Processes()
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(list, func(p boxwords.Process) bool { return p.PID == l.PID }); i < 0 {
			t.Errorf("%s is not on %s", l.File, l.Host)
		} else if !slices.Contains(list[i].Args, "ok") {
			t.Errorf("%s was started with %q, which is not what its role says now", name, list[i].Args)
		}
		delete(before, name)
	}
	same(t, before, w.runs(10))
}

// I149, intent recorded too late: agents that are restarted go on where they were,
// each once, although the daemon is killed in the middle of it, wherever that is. A
// daemon that is killed while it ends gracefully takes nobody along.
func TestI149RestartIsRemembered(t *testing.T) {
	slow(t, "restarts through every outage")
	w := fleet(t)
	h := w.Hosts[2]
	const many = 10
	w.room(role("talk", many, "remember", on(h), lasting(patience)))
	lives := w.runs(many)
	var tasks []uint64
	for range many {
		tasks = append(tasks, w.task("talk", "busy=10m"))
	}
	for _, id := range tasks {
		w.taskIs(id, vigilv1.TaskState_IN_PROGRESS)
	}
	phases := []time.Duration{0, 30 * time.Millisecond, 120 * time.Millisecond}

	for _, phase := range phases {
		if err := h.Signal(h.Process.PID, sigTerm); err != nil {
			t.Fatal(err)
		}
		time.Sleep(phase)
		w.killHost(h)()
		w.settled()
		same(t, lives, w.runs(many))
	}
	var names []string
	for _, a := range w.agents() {
		names = append(names, a.GetName())
	}
	for n, phase := range append(phases, 60*time.Millisecond, 180*time.Millisecond, 240*time.Millisecond,
		400*time.Millisecond) {
		began := time.Now()
		if out, code := w.vigil(append([]string{"agent", "restart"}, names...)...); code != 0 {
			t.Fatal(out)
		}
		time.Sleep(phase)
		w.killHost(h)()
		for name, old := range lives {
			l := w.next(name, old.Incarnation)
			w.resumes(l, old.Incarnation)
			if all := w.lives(name); len(all) != n+2 {
				t.Errorf("phase %s: %s has %d lives, not %d", phase, name, len(all), n+2)
			}
			lives[name] = l
		}
		t.Logf("phase %s: all are back after %s", phase, time.Since(began).Round(time.Millisecond))
	}
	for _, id := range tasks { // nobody was at fault
		if got := w.taskIs(id, vigilv1.TaskState_IN_PROGRESS); got.GetKills() != 0 {
			t.Errorf("task %d is said to have killed %d", id, got.GetKills())
		}
	}
}
