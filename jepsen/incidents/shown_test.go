//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// I45, a mute host with a content daemon: when agentd cannot reach any server both
// sides say so, and it is back by itself when the way is open again.
func TestI45MuteHostIsNoticedOnBothSides(t *testing.T) {
	w := fleet(t)
	h := w.extra("h45", 45, 8)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.room(role("work", 1, "", on(h)))
	w.runs(1)
	said := len(w.log(h.Name, "agentd"))
	w.cut(h.Machine, stand.Cut{In: true, Out: true, API: true})
	w.eventually("the cluster has lost the host", func() error {
		if got := w.hostState(h); got.GetState() != "lost" {
			return errNotYet(got.GetState())
		}
		return nil
	})
	if out, code := w.vigil("status"); code != 0 || !strings.Contains(out, "1 lost") ||
		!strings.Contains(out, "Agents that should run and do not: 1 of 1") {
		t.Errorf("status ended with %d and does not say it: %s", code, out)
	}
	w.eventually("agentd says so too", func() error {
		for line := range strings.Lines(w.log(h.Name, "agentd")[said:]) {
			if strings.Contains(line, "[WARN]") && (strings.Contains(line, "beat was not acknowledged") ||
				strings.Contains(line, "no beat was acknowledged")) {
				return nil
			}
		}
		return errNotYet("no warning in its log")
	})
	w.heal(h.Machine)
	w.runs(1) // in the same life, or in the next one where this machine took longer than a fence
	w.eventually("the host is ready again", func() error {
		if got := w.hostState(h); got.GetState() != "ready" {
			return errNotYet(got.GetState())
		}
		return nil
	})
}

// I117, an exit that nobody saw: agents that exit before anybody can look at them are
// seen to exit, each of two hundred times, with their code.
func TestI117EarlyExitsAreSeen(t *testing.T) {
	slow(t, "two hundred lives")
	w := fleet(t)
	const agents, lives = 50, 200
	w.set(map[string]string{"starts_per_host": "40"})
	w.room(role("work", agents, "crash=0s"))
	w.eventually("they have died two hundred times", func() error {
		if n := len(w.events("agent.exited")); n < lives {
			return fmt.Errorf("%d exits", n)
		}
		return nil
	})
	w.room(role("work", agents, "crash=0s", func(r *vigilv1.RoleSpec) { r.Desired = "stopped" }))
	w.eventually("all have ended", func() error {
		for _, a := range w.agents() {
			if a.GetProcess() != "none" || a.GetOrder() != "none" {
				return errors.New(a.GetName() + " is " + a.GetProcess() + ", order " + a.GetOrder())
			}
		}
		return nil
	})
	seen := map[string]int{}
	for _, e := range w.events("agent.exited") {
		seen[e.GetAgent()+" "+e.GetIncarnation()]++
	}
	for _, l := range w.lives("") {
		if n := seen[l.Agent+" "+w.incarnation(l)]; n != 1 {
			t.Errorf("the end of %s was told %d times", l.File, n)
		}
	}
	for _, a := range w.agents() {
		// A start that a busy machine could not make in time is no life.
		if a.GetLastExit().GetKind() != "start_failed" && a.GetLastExit().GetCode() != 3 {
			t.Errorf("%s: last exit %v", a.GetName(), a.GetLastExit())
		}
	}
}

// I137, an error in disguise: a start that cannot work, because its program may not be
// run or is gone, says why in the agent's own record, and is charged once however often
// it is tried.
func TestI137StartFaultIsShown(t *testing.T) {
	w := fleet(t)
	h := w.extra("h137", 47, 8)
	says := map[string]string{"denied": "permission denied", "gone": "no such file"}
	for name := range says {
		w.scripted(h, name, "#!/bin/sh\n")
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.eventually("the host has the runners", func() error {
		got, err := w.fleet.GetHost(w.ctx(), &vigilv1.GetHostRequest{Host: h.Name})
		if err == nil && got.GetState() != "ready" {
			err = errNotYet(got.GetState())
		}
		return err
	})
	folder := filepath.Join(shared.folder, h.Name)
	if err := errors.Join(os.Chmod(filepath.Join(folder, "denied.sh"), 0o600),
		os.Remove(filepath.Join(folder, "gone.sh"))); err != nil {
		t.Fatal(err)
	}
	w.room(role("denied", 1, "", on(h), by("denied")), role("gone", 1, "", on(h), by("gone")))
	for slot, why := range says {
		w.eventually(slot+" says why it does not start", func() error {
			if a := w.agent(slot); !strings.Contains(a.GetStartFault(), why) {
				return fmt.Errorf("start fault %q; %s", a.GetStartFault(), w.describe())
			}
			return nil
		})
	}
	always(t, 4*time.Second, "each is charged once", func() error {
		for _, a := range w.agents() {
			if a.GetFailures() > 1 || a.GetParked() {
				return fmt.Errorf("%s: %d failures, parked: %t", a.GetName(), a.GetFailures(), a.GetParked())
			}
		}
		return nil
	})
	for slot, why := range says {
		if out, code := w.vigil("agent", "explain", w.slot(slot)); code != 0 || !strings.Contains(out, why) {
			t.Errorf("explain %s ended with %d: %s", slot, code, out)
		}
	}
}

// I147, a crash that is taken for an end: whatever the code with which an agent exits
// while it holds a task, the task is not finished by it, and the code is shown.
func TestI147ExitIsNoCompletion(t *testing.T) {
	w := fleet(t)
	h := w.extra("h147", 49, 8)
	for _, code := range []string{"0", "1", "137"} {
		w.scripted(h, "code"+code, fmt.Sprintf("#!/bin/sh\n%s wait-for-task --start || exit 99\nexit %s\n",
			w.Program(), code))
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	var roles []*vigilv1.RoleSpec
	for _, code := range []string{"0", "1", "137"} {
		roles = append(roles, role("exits"+code, 1, "", on(h), by("code"+code), onDemand,
			func(r *vigilv1.RoleSpec) { r.AttemptLimit = 2 }))
	}
	w.room(roles...)
	for _, code := range []string{"0", "1", "137"} {
		task := w.task("exits"+code, "")
		got := w.taskIs(task, vigilv1.TaskState_FAILED, vigilv1.TaskState_QUARANTINED)
		a := w.agent("exits" + code)
		if e := a.GetLastExit(); fmt.Sprint(e.GetCode()) != code {
			t.Errorf("it exited with %s, shown is %v", code, e)
		}
		if got.GetAttempt() != 2 {
			t.Errorf("exit code %s: %d attempts, %s", code, got.GetAttempt(), got.GetState())
		}
	}
	if n := len(w.events("task.completed")); n != 0 {
		t.Errorf("%d tasks were completed", n)
	}
}

// I155, recovery beyond its knowledge: tasks that only one host can work on wait for
// it, with the reason, and nobody else fails or drops them.
func TestI155UnknownWorkWaits(t *testing.T) {
	w := fleet(t)
	h := w.extra("h155", 55, 8)
	w.scripted(h, "rare", fmt.Sprintf("#!/bin/sh\nexec %s/ticker\n", shared.folder))
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.room(role("work", 1, "", by("rare")))
	before := w.runs(1)["work"]
	if err := h.PowerOff(); err != nil {
		t.Fatal(err)
	}
	task := w.task("work", "")
	w.eventually("it waits for a host that can run it", func() error {
		if a := w.agent("work"); a.GetWhyCode() != "no_host" || !strings.Contains(a.GetWhy(), "rare") {
			return errors.New(w.describe())
		}
		return nil
	})
	always(t, 3*time.Second, "the task is untouched", func() error {
		got, err := w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: task})
		if err == nil && (got.GetState() != vigilv1.TaskState_PENDING || got.GetAttempt() != 0) {
			err = fmt.Errorf("it is %s, attempt %d", got.GetState(), got.GetAttempt())
		}
		return err
	})
	if err := errors.Join(h.On(), h.Start()); err != nil {
		t.Fatal(err)
	}
	w.next("work", before.Incarnation)
	w.taskIs(task, vigilv1.TaskState_COMPLETED)
}

// I113, health that lies: while ten agents should run and none does, the status does not
// look well; it tells both numbers, on every surface and also after all servers were
// restarted.
func TestI113NobodyRunsIsShown(t *testing.T) {
	w := fleet(t)
	const agents = 10
	w.room(role("work", agents, "", func(r *vigilv1.RoleSpec) { r.Labels = map[string]string{"host": "nowhere"} }))
	shows := func() {
		t.Helper()
		w.eventually("the status tells it", func() error {
			if st := w.status(); st.GetAgentsWanted() != agents || st.GetAgentsRunning() != 0 {
				return fmt.Errorf("%d should run, %d run", st.GetAgentsWanted(), st.GetAgentsRunning())
			}
			return nil
		})
		const warning = "Agents that should run and do not: 10 of 10"
		out, code := w.vigil("status")
		if code != 0 || !strings.Contains(out, "10 should run, 0 run") || !strings.Contains(out, warning) {
			t.Errorf("status ended with %d: %s", code, out)
		}
		for _, sv := range w.Servers {
			answer := &vigilv1.StatusResponse{}
			if err := protojson.Unmarshal(w.get(sv, "/v1/status"), answer); err != nil {
				t.Fatal(err)
			}
			if answer.GetAgentsWanted() != agents || answer.GetAgentsRunning() != 0 ||
				!strings.Contains(strings.Join(answer.GetWarnings(), "\n"), warning) {
				t.Errorf("%s answers %v", sv.Name, answer)
			}
		}
	}
	shows()
	var starts []func()
	for _, sv := range w.Servers {
		starts = append(starts, w.killServer(sv))
	}
	for _, start := range starts {
		start()
	}
	w.settled()
	shows()
	w.room(role("work", agents, ""))
	w.runs(agents)
	if st := w.status(); st.GetAgentsWanted() != agents || st.GetAgentsRunning() != agents ||
		strings.Contains(strings.Join(st.GetWarnings(), "\n"), "should run") {
		t.Errorf("all run, and the status says: %v", st)
	}
}
