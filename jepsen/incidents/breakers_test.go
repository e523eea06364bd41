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

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

func init() {
	// A crash while it works is what its tool does when it is out of quota.
	runners["limited"] = `usage_limit: [{exit_code: 3, after: 1s}]`
}

// breaker gives the cluster a breaker that opens at the n-th failure and stays open
// for so long.
func (w *world) breaker(n int, pause time.Duration) {
	w.t.Helper()
	w.set(map[string]string{"breaker_starts": fmt.Sprint(n), "breaker_window": "1m",
		"breaker_pause": pause.String(), "healthy_after": "1s"})
}

// by changes the runner of a role.
func by(runner string) func(*vigilv1.RoleSpec) {
	return func(r *vigilv1.RoleSpec) { r.Runner = runner }
}

// parked waits until an agent is parked, and gives what it is like then.
func (w *world) parked(slot string) *vigilv1.Agent {
	w.t.Helper()
	var a *vigilv1.Agent
	w.eventually(slot+" is parked", func() error {
		if a = w.agent(slot); !a.GetParked() || a.GetWhyCode() != "parked" {
			return errors.New(w.describe())
		}
		return nil
	})
	return a
}

// count fails when the ledger does not show so many lives of an agent.
func (w *world) count(slot string, n int) error {
	if lives := w.lives(slot); len(lives) != n {
		return fmt.Errorf("%d lives of %s, not %d: %s", len(lives), slot, n, w.describe())
	}
	return nil
}

// lived waits until the ledger shows so many lives of an agent, or more.
func (w *world) lived(slot string, n int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("life %d of %s", n, slot), func() error {
		if len(w.lives(slot)) < n {
			return w.count(slot, n)
		}
		return nil
	})
}

// figures are what a server serves to scrapers.
func (w *world) figures(sv *stand.Server) string { return string(w.get(sv, "/metrics")) }

// started tells which of these gaps between starts is shorter than it must be. A
// start is before its end, and cluster time never runs faster than real time.
func started(lives []*ledger.Life, gaps ...time.Duration) error {
	for i, least := range gaps {
		if got := time.Duration(lives[i+1].Start - lives[i].Start); got < least {
			return fmt.Errorf("start %d follows %s after start %d, not %s", i+2, got, i+1, least)
		}
	}
	return nil
}

// I01, stale-evidence kill: an agent whose last beat is older than its lease, and which
// takes two more leases before its first one, is left alone. Nothing of an earlier
// life is evidence against this one: leases belong to incarnations, and before it has
// joined only its start limit counts.
func TestI01OldEvidenceKillsNobody(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 1, ""))
	first := w.runs(1)["work"]
	if _, err := w.fleet.SetAgent(w.ctx(), &vigilv1.SetAgentRequest{Agent: w.slot("work"),
		Desired: "stopped", By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.gone(first)
	w.room(role("work", 1, fmt.Sprintf("slow-start=%s", 2*ttl)))
	always(t, ttl+time.Second, "it stays stopped", func() error { return w.count("work", 1) })
	if _, err := w.fleet.SetAgent(w.ctx(), &vigilv1.SetAgentRequest{Agent: w.slot("work"),
		Desired: "running", By: "test"}); err != nil {
		t.Fatal(err)
	}
	second := w.next("work", first.Incarnation)
	always(t, ttl, "it goes on", func() error { return w.count("work", 2) })
	for _, e := range w.events("order.stop", "agent.start_limit", "agent.lease_ended",
		"agent.fence_ended", "agent.exited") {
		if strings.Contains(e.GetText(), "could not be started") {
			continue // by a busy machine, which was tried again: there was nobody to kill
		}
		if e.GetAgent() == w.slot("work") && e.GetIncarnation() != w.incarnation(first) {
			t.Errorf("life %d was judged: %s %s", second.Incarnation, e.GetKind(), e.GetText())
		}
	}
}

// incarnation is how events of the first epoch name a life.
func (w *world) incarnation(l *ledger.Life) string { return fmt.Sprint(l.Incarnation) }

// I31, false positive on a long call: during a task of which nothing is heard for three
// leases, from an agent that only uses the command line, its shim vouches for the
// process. The task is finished in its first attempt.
func TestI31LongCallIsOneAttempt(t *testing.T) {
	w := fleet(t)
	h := w.extra("h31", 31, 8)
	w.scripted(h, "cli", fmt.Sprintf(`#!/bin/sh
while %[1]s wait-for-task --start; do
	/bin/sleep %[2]d
	%[1]s task complete "a long answer"
done
`, w.Program(), int(3*ttl/time.Second)))
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.room(role("work", 1, "", on(h), by("cli")))
	task := w.taskIs(w.task("work", ""), vigilv1.TaskState_COMPLETED)
	if task.GetAttempt() != 1 || task.GetResult() != "a long answer" {
		t.Errorf("it took %d attempts, with the result %q", task.GetAttempt(), task.GetResult())
	}
	for _, e := range w.events("agent.exited", "agent.lease_ended", "task.recovered") {
		if e.GetTask() == task.GetId() {
			t.Errorf("it was disturbed: %s %s", e.GetKind(), e.GetText())
		}
	}
}

// scripted gives a host, before it is started, a runner that is a script.
func (w *world) scripted(h *stand.Host, name, text string) {
	w.t.Helper()
	folder := filepath.Join(shared.folder, h.Name)
	script := filepath.Join(folder, name+".sh")
	runner := fmt.Sprintf("name: %s\nprogram: %q\nuser: root\nargs: [\"${param.does}\"]\nparams: {does: "+
		"{pattern: \"[a-z0-9,=.-]*\", default: \"\"}}\n"+
		"env: {TICKER_LEDGER: %q, TICKER_HOST: %q, GOMAXPROCS: \"1\"}\n", name, script, w.Ledger.Folder, h.Name)
	err := errors.Join(
		os.MkdirAll(filepath.Join(folder, "runners.d"), 0o755),
		os.WriteFile(script, []byte(text), 0o755),
		os.WriteFile(filepath.Join(folder, "runners.d", name+".yaml"), []byte(runner), 0o600))
	if err != nil {
		w.t.Fatal(err)
	}
}

// I87, crash loop: starts follow each other ever more slowly, at 0, 2, 5 s, ... after
// a failure, and then the breaker opens with one alert.
func TestI87CrashLoopSlowsDown(t *testing.T) {
	slow(t, "back-off after back-off")
	w := fleet(t)
	w.breaker(4, 2*time.Minute)
	w.room(role("work", 1, "crash=0s"))
	a := w.parked("work")
	if a.GetFailures() != 4 || a.GetNotBefore().AsDuration() < time.Minute {
		t.Errorf("%d failures, parked for %s", a.GetFailures(), a.GetNotBefore().AsDuration())
	}
	always(t, 2*time.Second, "the breaker holds", func() error { return w.count("work", 4) })
	if err := started(w.lives("work"), 0, 2*time.Second, 5*time.Second); err != nil {
		t.Error(err)
	}
	if n := len(w.events("agent.parked")); n != 1 {
		t.Errorf("%d alerts", n)
	}
}

// I88, breaker bypassed: tasks, a declaration, a dead agentd, a dead leader and a
// human's resume want the agent to run; its open breaker holds against all of them,
// but not against a human who says start.
func TestI88BreakerHoldsOnEveryPath(t *testing.T) {
	w := fleet(t)
	w.breaker(2, 10*time.Minute)
	h := w.Hosts[0]
	loop := role("work", 1, "crash=0s", on(h))
	w.room(loop)
	w.parked("work")
	w.task("work", "")
	w.room(loop, role("other", 1, ""))
	for _, pause := range []bool{true, false} {
		if _, err := w.fleet.SetPause(w.ctx(), &vigilv1.SetPauseRequest{Scope: w.name, Pause: new(pause),
			By: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	w.replace(h)()
	w.killServer(w.leader())()
	w.settled()
	w.runs(1) // the other one: the cluster does start agents
	always(t, 3*time.Second, "the breaker holds", func() error { return w.count("work", 2) })
	if a := w.agent("work"); a.GetWhyCode() != "parked" || a.GetWhyLeft().AsDuration() < time.Minute {
		t.Errorf("after all this it is %s: %s", a.GetWhyCode(), a.GetWhy())
	}
	if text, code := w.vigil("agent", "start", w.slot("work")); code != 0 {
		t.Fatalf("agent start: %s", text)
	}
	w.lived("work", 3)
}

// I89, breaker never decays: when its pause is over exactly one trial follows. A
// trial that does some work and stays healthy closes the breaker and clears the
// counters; all of it is replicated, so a dead leader changes nothing.
func TestI89BreakerClosesAfterOneTrial(t *testing.T) {
	slow(t, "a breaker and its pause")
	w := fleet(t)
	w.breaker(2, 4*time.Second)
	w.room(role("work", 1, "crash=0s"))
	w.parked("work")
	w.killServer(w.leader())()
	// One trial, which fails.
	w.lived("work", 3)
	w.sees("agent.parked", "work", w.sees("agent.parked", "work", 0).GetSeq())
	if err := started(w.lives("work"), 0, 4*time.Second); err != nil {
		t.Error(err)
	}
	// Its cause is gone; nobody has to sweep anything.
	w.room(role("work", 1, ""))
	applied := ledger.Now()
	w.task("work", "")
	w.runs(1)
	w.sees("agent.recovered", "work", 0)
	a := w.agent("work")
	if a.GetParked() || a.GetFailures() != 0 {
		t.Errorf("%d failures, parked: %v", a.GetFailures(), a.GetParked())
	}
	trials := 0
	for _, l := range w.lives("work") {
		if l.Start > applied {
			trials++
		}
	}
	if trials != 1 {
		t.Errorf("%d starts since its cause is gone", trials)
	}
}

// I91, breaker state shown as healthy: an agent behind an open breaker is shown as
// parked, until when and why, in every answer, and the cluster's own answer warns.
func TestI91OpenBreakerIsShown(t *testing.T) {
	w := fleet(t)
	w.breaker(2, 5*time.Minute)
	w.room(role("work", 1, "crash=0s"), role("well", 1, ""))
	w.parked("work")
	w.runs(1)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"agent", "explain", w.slot("work")},
			[]string{"parked after 2 failures", "one trial follows", "; in ", "agent unpark"}},
		{[]string{"agent", "list", "--room", w.name}, []string{"parked"}},
		{[]string{"status"}, []string{"warning: Agents that are parked after failures or for a usage limit: 1"}},
	} {
		text, code := w.vigil(c.args...)
		for _, want := range c.want {
			if code != 0 || !strings.Contains(text, want) {
				t.Errorf("vigil %s: code %d, want %q in\n%s", strings.Join(c.args, " "), code, want, text)
			}
		}
	}
	if text := w.figures(w.leader()); !strings.Contains(text, "\nvigil_agents_parked 1\n") {
		t.Errorf("/metrics does not tell of it:\n%s", text)
	}
}

// I93, poison task: a task that kills whoever takes it is quarantined after three
// deaths, with its dead named; its agents recover and go on with other tasks.
func TestI93PoisonTaskIsQuarantined(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 2, ""))
	w.runs(2)
	poison := w.task("work", "crash=0s")
	var good []uint64
	for range 4 {
		good = append(good, w.task("work", ""))
	}
	task := w.taskIs(poison, vigilv1.TaskState_QUARANTINED)
	if task.GetKills() != 3 || task.GetAttempt() != 3 {
		t.Errorf("%d kills in %d attempts", task.GetKills(), task.GetAttempt())
	}
	for _, id := range good {
		w.taskIs(id, vigilv1.TaskState_COMPLETED)
	}
	w.runs(2)
	dead := map[string]bool{}
	for _, e := range w.events("agent.exited") {
		if e.GetTask() == poison {
			dead[e.GetAgent()+" "+e.GetIncarnation()] = true
		}
	}
	if len(dead) != 3 {
		t.Errorf("the dead of the task are not all named: %v", dead)
	}
}

// I94, usage limit taken for a crash: agents whose tool is out of quota are parked
// until then, at no charge, and all of them go on once when it is over.
func TestI94UsageLimitParks(t *testing.T) {
	w := fleet(t)
	w.breaker(2, 10*time.Minute)
	w.room(role("work", 4, "quota=5s", by("quota")))
	for _, a := range w.agents() {
		slot := strings.TrimPrefix(a.GetName(), w.name+"/")
		if e := w.sees("agent.parked", slot, 0); !strings.Contains(e.GetText(), "usage limit") {
			t.Errorf("%s: %s", slot, e.GetText())
		}
	}
	w.runs(4)
	for _, a := range w.agents() {
		slot := strings.TrimPrefix(a.GetName(), w.name+"/")
		if err := w.count(slot, 2); err != nil {
			t.Error(err)
		}
		if a.GetFailures() != 0 || a.GetParked() {
			t.Errorf("%s: %d failures, parked: %v", slot, a.GetFailures(), a.GetParked())
		}
	}
}

// I95, unbounded auto-resume: a task that always runs into the limit is begun again
// after pauses that double, up to breaker_pause, also across a change of the leader; it is
// neither lost nor charged, and shown as parked all the while. There is no last try: half an
// hour apart they cost little, a human is told, and the limit may clear.
func TestI95LimitThatNeverClearsIsTriedLessAndLess(t *testing.T) {
	slow(t, "usage limits that follow each other")
	w := fleet(t)
	w.room(role("work", 1, "", by("limited")))
	w.runs(1)
	id := w.task("work", "crash=0s")
	w.lived("work", 3)
	w.killServer(w.leader())()
	w.lived("work", 4)
	a := w.parked("work")
	for i, e := range w.events("agent.parked") {
		if want := fmt.Sprintf("next start in %ds", 1<<i); !strings.HasSuffix(e.GetText(), want) {
			t.Errorf("try %d: %s, not %s", i+1, e.GetText(), want)
		}
	}
	if err := started(w.lives("work"), time.Second, 2*time.Second, 4*time.Second); err != nil {
		t.Error(err)
	}
	task := w.taskIs(id, vigilv1.TaskState_PENDING)
	if task.GetKills() != 0 || a.GetFailures() != 0 {
		t.Errorf("%d kills, %d failures", task.GetKills(), a.GetFailures())
	}
}
