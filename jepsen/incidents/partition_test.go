//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
)

// I14, fail-over that expires everybody: cluster time stands still while nobody
// leads, a client notices within a second that its server says nothing, and a new
// leader gives everybody the time that they had (law L10).
func TestI14LeaderIsGone(t *testing.T) {
	w := fleet(t)
	const agents, lease = 50, 6 * time.Second
	w.room(role("work", agents, "", byHand, lasting(lease)))
	workers := make([]*client.Worker, agents)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			c, err := client.Open(client.Config{Addrs: w.Addrs(), Name: fmt.Sprint("worker ", i)})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
			if workers[i], err = client.Join(w.ctx(), c, client.WorkerConfig{Agent: w.slot("work.*")}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, way := range []struct {
		name string
		lose func(*stand.Server) (undo func())
	}{
		{"killed", w.killServer},
		{"stopped", func(sv *stand.Server) func() { return w.freeze(sv.Machine, sv.Process.PID) }},
		{"cut off", func(sv *stand.Server) func() {
			w.cut(sv.Machine, stand.Both)
			return func() { w.heal(sv.Machine) }
		}},
	} {
		lead := w.leader()
		undo := way.lose(lead)
		began := time.Now()
		w.eventually("somebody else leads", func() error {
			if now := w.leader(); now == lead {
				return errors.New("the old leader is still named")
			}
			return nil
		})
		led := time.Now()
		w.eventually("every worker is heard by the new leader", func() error {
			for _, a := range w.agents() {
				// Longer than what was left when the leader was lost: it was renewed since.
				if a.GetLeaseLeft().AsDuration() < lease-time.Since(led) {
					return fmt.Errorf("the lease of %s ends in %s", a.GetName(), a.GetLeaseLeft().AsDuration())
				}
			}
			return nil
		})
		t.Logf("%s: a leader after %s, everybody heard %s later (half a lease is %s)", way.name,
			led.Sub(began).Round(time.Millisecond), time.Since(led).Round(time.Millisecond), lease/2)
		undo()
		w.settled()
	}
	if e := w.events("agent.lease_ended", "agent.left"); len(e) > 0 {
		t.Errorf("%d agents were declared dead: %v", len(e), e[0])
	}
	for _, worker := range workers {
		if err := worker.Context().Err(); err != nil {
			t.Errorf("%s has ended: %v", worker.Agent(), err)
		}
	}
}

// rehomed waits until every given agent lives a next life, on another host.
func (w *world) rehomed(before map[string]*ledger.Life) map[string]*ledger.Life {
	w.t.Helper()
	after := map[string]*ledger.Life{}
	for name, l := range before {
		after[name] = w.next(name, l.Incarnation)
		if after[name].Host == l.Host {
			w.t.Errorf("%s lives on %s again", name, l.Host)
		}
	}
	return after
}

// I57, rejoin of a host that was replaced: it says first what it has, and is told of
// each life whether it is current. Those that are not are ended without running for
// another moment; the replacements are not touched (laws L4, L6, L7).
func TestI57PartitionedHostRejoins(t *testing.T) {
	w := fleet(t)
	const agents = 5
	h := w.Hosts[0]
	undo := w.only(h)
	w.room(role("work", agents, "", lasting(2*ttl)))
	before := w.runs(agents)
	undo()
	w.cut(h.Machine, stand.Both)
	after := w.rehomed(before)
	residents, err := h.Residents()
	if err != nil || len(residents) != agents {
		t.Fatalf("%d of the old processes are there: %v", len(residents), err)
	}
	w.heal(h.Machine)
	for _, l := range before {
		if end := w.gone(l); end.Last() > after[l.Agent[len(w.name)+1:]].Start {
			t.Errorf("%s ran after it was replaced", l.File)
		}
	}
	always(t, 3*time.Second, "the replacements run on, and nothing else", func() error {
		if n := len(w.lives("")); n != 2*agents {
			return fmt.Errorf("%d lives, want %d", n, 2*agents)
		}
		for name, l := range after {
			if a := w.agent(name); a.GetIncarnationRaw() != l.Incarnation || a.GetProcess() != "running" ||
				a.GetParticipant() != "WAITING" {
				return fmt.Errorf("%s was life %d: %s", name, l.Incarnation, w.describe())
			}
		}
		return nil
	})
	w.settled()
}

// I125, work that goes on behind a partition: the shim of every agent stops it at
// three quarters of its TTL, by its own clock; nobody may start the next life before
// the whole TTL is over (law L7).
func TestI125AgentsFreezeBeforeTheirFenceEnds(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[1]
	undo := w.only(h)
	w.room(role("work", 3, ""))
	before := w.runs(3)
	undo()
	cut := ledger.Now()
	w.cut(h.Machine, stand.Both)
	after := w.rehomed(before)
	for name, l := range before {
		quiet, start := time.Duration(w.life(l).Last()-cut), time.Duration(after[name].Start-cut)
		t.Logf("%s: frozen %s after the cut, next life at %s", name, quiet.Round(time.Millisecond),
			start.Round(time.Millisecond))
	}
	always(t, 2*time.Second, "the old lives stand still", func() error {
		for name, l := range before {
			if end := w.life(l); end.Last() > after[name].Start {
				return fmt.Errorf("%s ran %s after its next life had begun", l.File,
					time.Duration(end.Last()-after[name].Start))
			}
		}
		return nil
	})
	if list, err := h.Residents(); err != nil || len(list) != len(before) {
		t.Errorf("%d of the frozen processes are there: %v", len(list), err)
	}
}

// I127, a host that never comes back: its agents move once their fences have ended,
// each once, to where there is room and the labels are right. Those that may run
// nowhere else say which host they wait for, until a human has forgotten it.
func TestI127HostIsGoneForEver(t *testing.T) {
	w := fleet(t)
	const agents = 12
	h := w.extra("doomed", 53, 64)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	undo := w.only(h)
	w.room(role("work", agents, "", lasting(2*ttl)), role("pinned", 2, "", on(h)))
	before := w.runs(agents + 2)
	undo()
	pinned := map[string]*ledger.Life{"pinned": before["pinned"], "pinned.2": before["pinned.2"]}
	delete(before, "pinned")
	delete(before, "pinned.2")
	if err := h.PowerOff(); err != nil {
		t.Fatal(err)
	}
	after := w.rehomed(before)
	for name := range pinned {
		w.eventually(name+" waits for its host", func() error {
			// None: its exit was reported in the moment in which the power failed.
			if a := w.agent(name); a.GetProcess() != "lost" && a.GetProcess() != "none" ||
				a.GetWhyCode() != "no_host" || !strings.Contains(a.GetWhy(), "doomed is lost") {
				return fmt.Errorf("%s, %s: %s", a.GetProcess(), a.GetWhyCode(), a.GetWhy())
			}
			return nil
		})
		if out, code := w.vigil("agent", "explain", w.slot(name)); code != 0 || !strings.Contains(out, "doomed") {
			t.Errorf("explain ended with %d: %s", code, out)
		}
	}
	always(t, 2*time.Second, "everyone moved once", func() error {
		for name, l := range after {
			if n := len(w.lives(name)); n != 2 || w.agent(name).GetIncarnationRaw() != l.Incarnation {
				return fmt.Errorf("%s: %d lives", name, n)
			}
		}
		return nil
	})
	for _, other := range w.Hosts {
		if got := w.hostState(other); got.GetRunning() > got.GetCapacity() {
			t.Errorf("host %s runs %d of %d", other.Name, got.GetRunning(), got.GetCapacity())
		}
	}
	if got := w.hostState(h).GetState(); got != "lost" {
		t.Errorf("the host is %s, want lost", got)
	}
}
