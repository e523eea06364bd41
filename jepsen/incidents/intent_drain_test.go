//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// I149, the drain itself: a daemon that hands its agents over is killed in the middle
// of that. When it is back all agents are there: those with a task in the same life,
// the others in the same or in the next one, which goes on where they were.
func TestI149DrainIsBrokenOff(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[1]
	w.room(role("busy", 5, "remember", on(h), lasting(patience)), role("idle", 5, "remember", on(h), lasting(patience)))
	lives := w.runs(10)
	for range 5 {
		w.taskIs(w.task("busy", "busy=10m"), vigilv1.TaskState_IN_PROGRESS)
	}
	for _, phase := range []time.Duration{30 * time.Millisecond, 150 * time.Millisecond,
		500 * time.Millisecond, 2 * time.Second} {
		w.drainingDaemon(h)
		if err := h.Signal(h.Process.PID, sigTerm); err != nil {
			t.Fatal(err)
		}
		time.Sleep(phase)
		w.killHost(h)()
		w.settled()
		next := w.runs(10)
		for name, l := range next {
			old := lives[name]
			switch {
			case l.File == old.File:
				continue
			case name[:4] == "busy":
				t.Errorf("phase %s: %s was interrupted", phase, name)
			}
			if n := len(w.since(old)); n != 1 {
				t.Errorf("phase %s: %s began %d lives", phase, name, n)
			}
			w.resumes(l, old.Incarnation)
		}
		lives = next
	}
	if h := w.hostState(h); h.GetDrain() {
		t.Errorf("the drain outlived its daemon: by %s", h.GetDrainBy())
	}
}

// drainingDaemon replaces an agentd by one that drains its host when it is ended.
func (w *world) drainingDaemon(h *stand.Host) {
	w.t.Helper()
	if err := h.Kill(); err != nil {
		w.t.Fatal(err)
	}
	args := []string{"agentd", "--config", filepath.Join(shared.folder, h.Name, "agentd.yaml"),
		"--data-dir", h.Data, "--drain"}
	args = append(args, h.BootFlags()...)
	registered := func() int { return strings.Count(w.log(h.Name, "agentd"), "host registered") }
	before := registered()
	p, err := h.Machine.Start("agentd", w.Program(), args, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	h.Process = p
	w.eventually("the daemon is at work", func() error { // or SIGTERM would find it unprepared
		if registered() == before {
			return errors.New("it has not registered")
		}
		return nil
	})
}

// since are the lives of an agent after the given one.
func (w *world) since(old *ledger.Life) (lives []*ledger.Life) {
	w.t.Helper()
	for _, l := range w.lives("") {
		if l.Agent == old.Agent && l.Start > old.Start {
			lives = append(lives, l)
		}
	}
	return lives
}

// resumes waits until a life has said which one it goes on from, and checks that.
func (w *world) resumes(l *ledger.Life, from uint64) {
	w.t.Helper()
	w.eventually("life "+l.File+" remembers", func() error {
		for _, now := range w.lives("") {
			if now.File != l.File {
				continue
			}
			i := slices.IndexFunc(now.Said, func(s ledger.Said) bool { return s.What == "resumed" })
			if i < 0 {
				return errors.New("it says nothing")
			}
			if got := now.Said[i].Task; got != from {
				w.t.Errorf("life %s goes on from life %d, not from %d", l.File, got, from)
			}
			return nil
		}
		return fmt.Errorf("it is not in the ledger")
	})
}
