//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// I96, thundering-herd restart: all agents of a machine that lost them come back,
// but only so many at once, and spread over time. Nobody elsewhere notices.
func TestI96RestartsAreStaggered(t *testing.T) {
	slow(t, "staggered restarts of many")
	w := fleet(t)
	h := w.Hosts[0]
	const many, atOnce, perSecond = 40, 4, 20
	w.set(map[string]string{"starts_per_host": fmt.Sprint(atOnce), "starts_per_second": fmt.Sprint(perSecond)})
	w.room(role("herd", many, "", on(h)), role("near", 2, "", on(w.Hosts[1])), role("far", 2, "", on(w.Hosts[2])))
	before := w.runs(many + 4)
	at := w.status().GetLastEvent()
	if err := h.KillAll(); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.settled()
	after := w.runs(many + 4)
	first, last := int64(0), int64(0)
	for name, l := range after {
		if !strings.HasPrefix(name, "herd") {
			continue
		}
		if l.File == before[name].File {
			t.Errorf("%s was not lost", name)
		}
		if first == 0 || l.Start < first {
			first = l.Start
		}
		last = max(last, l.Start)
		delete(before, name)
	}
	same(t, before, after)
	if most := mostStarting(w, at); most > atOnce {
		t.Errorf("%d agents were starting at once, %d are allowed", most, atOnce)
	}
	// One second's worth may begin at once, the others follow.
	if span := time.Duration(last - first); span < time.Second*(many-perSecond)/perSecond*8/10 {
		t.Errorf("all %d began within %s", many, span)
	}
	for _, e := range w.events("agent.lease_ended", "agent.exited", "agent.fence_ended") {
		if e.GetSeq() > at && !strings.Contains(e.GetAgent(), "/herd") {
			t.Errorf("%s of %s: %s", e.GetKind(), e.GetAgent(), e.GetText())
		}
	}
}

// mostStarting goes through the history after an event and gives the greatest number
// of agents of the room that were on their way from the order to the process.
func mostStarting(w *world, after uint64) (most int) {
	w.t.Helper()
	open := map[string]bool{}
	for _, e := range w.events("order.start", "order.canceled", "agent.started", "agent.exited", "agent.fence_ended") {
		if e.GetSeq() <= after {
			continue
		}
		if e.GetKind() == "order.start" {
			open[e.GetAgent()] = true
		} else {
			delete(open, e.GetAgent())
		}
		most = max(most, len(open))
	}
	if most == 0 {
		w.t.Error("the history knows of no starts")
	}
	return most
}

// I98, OOM takes the supervisor: an agent that outgrows its limit dies alone, and it
// is said of what.
func TestI98MemoryTakesTheAgent(t *testing.T) {
	if !limitsMemory() {
		t.Skip("the kernel limits no memory here: there is no controller for it")
	}
	w := fleet(t)
	h := w.Hosts[0]
	daemon := h.Process
	w.room(role("bystander", 2, "", on(h)))
	before := w.runs(2)
	w.room(role("bystander", 2, "", on(h)), role("big", 1, "eat=200", on(h),
		func(r *vigilv1.RoleSpec) { r.Runner = "small" }))
	w.eventually("it dies of its size", func() error {
		if exit := w.agent("big").GetLastExit(); !strings.Contains(exit.GetReason(), "memory") {
			return fmt.Errorf("last exit: %v; %s", exit, w.describe())
		}
		return nil
	})
	same(t, before, w.runs(2))
	select {
	case <-daemon.Done():
		t.Error("the daemon ended")
	default:
	}
}

// limitsMemory tells whether control groups limit memory on this machine.
func limitsMemory() bool {
	text, _ := os.ReadFile("/proc/self/cgroup") // none: no
	for line := range strings.Lines(string(text)) {
		if _, rest, _ := strings.Cut(line, ":"); strings.HasPrefix(rest, "memory:") ||
			strings.Contains(rest, ",memory") {
			return true
		}
	}
	text, _ = os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
	return slices.Contains(strings.Fields(string(text)), "memory")
}

// I98, the second half: a host that is short of memory takes no starts, not even of
// what it has just lost; what it runs is not touched.
func TestI98ShortHostTakesNoStarts(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("lost", 1, "", on(h)), role("bystander", 1, "", on(h)))
	before := w.runs(2)
	file := filepath.Join(shared.folder, h.Name, "agentd.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "min_free_memory: 1000000GiB\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	back := sync.OnceFunc(func() { restore(t, w, h) })
	t.Cleanup(back)
	w.replaceDaemon(h)
	w.eventually("the host says that it is short of memory", func() error {
		if why := w.hostState(h).GetPressure(); !strings.Contains(why, "short of memory") {
			return fmt.Errorf("pressure %q", why)
		}
		return nil
	})
	same(t, before, w.runs(2))
	l := before["lost"]
	if err := h.Signal(l.PID, sigKill); err != nil {
		t.Fatal(err)
	}
	w.ends("lost")
	always(t, calm, "it is not started again", func() error {
		a := w.agent("lost")
		if len(w.lives("lost")) != 1 || a.GetProcess() != "none" {
			return errors.New(w.describe())
		}
		return nil
	})
	if a := w.agent("lost"); !strings.Contains(a.GetWhy(), "short of memory") {
		t.Errorf("why: %s", a.GetWhy())
	}
	back()
	w.next("lost", l.Incarnation)
}

// I99, false suspicion under CPU load: the leader's machine is busy beyond its means
// and the leader has one processor; nobody is declared dead for that.
func TestI99BusyLeaderKillsNobody(t *testing.T) {
	slow(t, "a leader without processors")
	w := fleet(t)
	const many = 50
	w.set(map[string]string{"host_ttl": "8s"})
	w.room(role("calm", many, "", func(r *vigilv1.RoleSpec) { r.Ttl = seconds(8) }))
	before := w.runs(many)
	slow := w.Servers[0]
	w.narrow(slow)
	w.settled()
	w.eventually("it leads", func() error {
		if w.leader() == slow {
			return nil
		}
		_, err := w.cluster.TransferLeadership(w.ctx(), &vigilv1.TransferLeadershipRequest{To: slow.Name})
		return fmt.Errorf("not yet: %v", err)
	})
	for range 4 {
		p, err := slow.Machine.Start("spin", "/bin/sh", []string{"-c", "while :; do :; done"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
	always(t, 3*calm, "all live on", func() error {
		for _, e := range w.events("agent.lease_ended", "agent.fence_ended", "agent.exited", "order.stop") {
			return fmt.Errorf("%s of %s: %s", e.GetKind(), e.GetAgent(), e.GetText())
		}
		time.Sleep(time.Second / 4)
		return nil
	})
	for _, e := range w.eventsOf(&vigilv1.WatchEventsRequest{}, "host.lost", "host.suspect") {
		t.Errorf("%s %s: %s", e.GetKind(), e.GetHost(), e.GetText())
	}
	same(t, before, w.runs(many))
	t.Logf("the leader was %s, it is %s", slow.Name, w.status().GetLeader())
}

// narrow gives a server one processor until the test ends.
func (w *world) narrow(sv *stand.Server) {
	w.t.Helper()
	if err := sv.Kill(); err != nil {
		w.t.Fatal(err)
	}
	var err error
	sv.Process, err = sv.Machine.Start("server", w.Program(),
		[]string{"server", "--config", filepath.Join(shared.folder, sv.Name, "server.yaml")},
		[]string{"GOMAXPROCS=1"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		w.killServer(sv)()
		w.settled()
	})
}
