//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"testing"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// I152, operator intent not durable: pauses, a drain and a stop are still there
// after the leader, all servers and all daemons have been killed; to end a pause
// works, once.
func TestI152IntentOutlivesEverything(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 2, ""), role("alone", 1, ""), role("off", 1, ""))
	before := w.runs(4)
	drained := w.Hosts[0]
	for _, h := range w.Hosts { // one that holds at most what may go elsewhere
		if h.Name == before["alone"].Host {
			drained = h
		}
	}
	w.pause(w.slot("alone"), true)
	w.desire(w.slot("off"), "stopped")
	w.ends("off")
	if _, err := w.fleet.DrainHost(w.ctx(), &vigilv1.DrainHostRequest{Host: drained.Name, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	undrain := func() {
		if _, err := w.fleet.DrainHost(w.ctx(), &vigilv1.DrainHostRequest{Host: drained.Name, Off: true,
			By: "alice"}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(undrain)
	w.ends("alone") // it held no task
	w.runs(2)
	w.pause(w.name, true)
	w.pause("", true)
	t.Cleanup(func() { w.pause("", false) })
	task := w.task("work", "")
	solo := w.task("alone", "")

	w.killServer(w.leader())()
	w.restartEverything()

	always(t, calm, "what people said holds", func() error { return w.asTheySaid(drained, task, solo) })

	for _, scope := range []string{"", w.name, w.slot("alone")} {
		w.pause(scope, false)
		w.pause(scope, false) // it is over: nothing happens
	}
	for _, id := range []uint64{task, solo} {
		if got := w.taskIs(id, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 1 {
			t.Errorf("task %d took %d attempts", id, got.GetAttempt())
		}
	}
	if n := len(w.events("room.resumed")); n != 1 {
		t.Errorf("the room was resumed %d times", n)
	}
	if n := len(w.lives("off")); n != 1 {
		t.Errorf("the stopped agent has %d lives", n)
	}
	if h := w.hostState(drained); !h.GetDrain() {
		t.Error("the drain is gone")
	}
}

// asTheySaid checks the pauses, the stop and the drain of I152, and that nobody has
// claimed the tasks.
func (w *world) asTheySaid(drained *stand.Host, tasks ...uint64) error {
	st := w.status()
	rm, err := w.fleet.GetRoom(w.ctx(), &vigilv1.GetRoomRequest{Room: w.name})
	if err != nil {
		return err
	}
	h, alone, off := w.hostState(drained), w.agent("alone"), w.agent("off")
	switch {
	case !st.GetPaused() || st.GetPauseBy() != "alice" || st.GetPauseWhy() != "a test":
		return fmt.Errorf("everything: paused %t by %s", st.GetPaused(), st.GetPauseBy())
	case !rm.GetPaused() || rm.GetPauseBy() != "alice":
		return fmt.Errorf("room: paused %t by %s", rm.GetPaused(), rm.GetPauseBy())
	case !h.GetDrain() || h.GetState() != "draining" || h.GetRunning() > 0:
		return fmt.Errorf("host %s is %s with %d agents", h.GetName(), h.GetState(), h.GetRunning())
	case !alone.GetPaused() || alone.GetProcess() != "none":
		return fmt.Errorf("alone: paused %t, %s", alone.GetPaused(), alone.GetWhy())
	case off.GetDesired() != "stopped" || off.GetProcess() != "none":
		return fmt.Errorf("off is %s: %s", off.GetDesired(), off.GetWhy())
	}
	for _, id := range tasks {
		if got, err := w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: id}); err != nil ||
			got.GetAttempt() != 0 {
			return fmt.Errorf("task %d was claimed: %v, %v", id, got, err)
		}
	}
	return nil
}

// restartEverything kills all servers and all daemons at once and starts them again.
func (w *world) restartEverything() {
	w.t.Helper()
	var starts []func()
	for _, sv := range w.Servers {
		starts = append(starts, w.killServer(sv))
	}
	for _, h := range w.Hosts {
		starts = append(starts, w.killHost(h))
	}
	for _, start := range starts {
		start()
	}
	w.eventually("everything is back", func() error {
		st := w.status()
		n := uint32(0)
		for state, count := range st.GetHostStates() {
			if state == "ready" || state == "draining" {
				n += count
			}
		}
		if int(n) != len(w.Hosts) || st.GetLeader() == "" {
			return fmt.Errorf("leader %q, hosts %v", st.GetLeader(), st.GetHostStates())
		}
		return nil
	})
}

// I153, pause not honoured by fail-over: a paused agent whose host has died is not
// started anywhere until somebody resumes it, and its queue is not touched.
func TestI153FailOverHonoursPause(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[1]
	elsewhere := w.only(h)
	w.room(role("fast", 1, "", func(r *vigilv1.RoleSpec) { r.Policy = "fast" }), role("paused", 1, ""),
		role("canary", 1, ""))
	before := w.runs(3)
	elsewhere()
	for _, name := range []string{"paused", "fast"} {
		w.pause(w.slot(name), true)
	}
	tasks := []uint64{w.task("paused", ""), w.task("paused", "")}
	if err := h.KillAll(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Start(); err != nil {
			t.Error(err)
		}
	})
	w.eventually("the host is lost, and the agent with it", func() error {
		a := w.agent("paused")
		if w.hostState(h).GetState() != "lost" || a.GetWhyCode() != "paused" || a.GetParticipant() != "DISCONNECTED" {
			return errors.New(w.describe())
		}
		return nil
	})
	w.next("canary", before["canary"].Incarnation) // re-homing goes on
	always(t, calm, "nobody starts it", func() error {
		for _, name := range []string{"paused", "fast"} {
			if a := w.agent(name); len(w.lives(name)) != 1 || a.GetProcess() == "ordered" ||
				a.GetProcess() == "accepted" {
				return errors.New(w.describe())
			}
		}
		for _, id := range tasks {
			got, err := w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: id})
			if err != nil || got.GetAttempt() != 0 || got.GetKills() != 0 {
				return fmt.Errorf("task %d was touched: %v, %v", id, got, err)
			}
		}
		return nil
	})
	w.pause(w.slot("paused"), false)
	if l := w.next("paused", before["paused"].Incarnation); l.Host == h.Name {
		t.Errorf("it lives on the dead host")
	}
	for _, id := range tasks {
		w.taskIs(id, vigilv1.TaskState_COMPLETED)
	}
}
