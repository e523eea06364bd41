//go:build linux

package incidents

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
)

func seconds(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Second) }

// closeTask cancels a task.
func (w *world) closeTask(id uint64) {
	w.t.Helper()
	if _, err := w.fleet.CancelTask(w.ctx(), &vigilv1.CancelTaskRequest{Task: id, By: "test",
		Reason: "closed"}); err != nil {
		w.t.Fatalf("cancel task: %v", err)
	}
}

// desire says what a human wants of an agent, by its full name.
func (w *world) desire(agent, what string) {
	w.t.Helper()
	if _, err := w.fleet.SetAgent(w.ctx(), &vigilv1.SetAgentRequest{Agent: agent, Desired: what,
		By: "test"}); err != nil {
		w.t.Fatalf("set agent: %v", err)
	}
}

// pause pauses or resumes a scope: everything, a room or an agent.
func (w *world) pause(scope string, on bool) {
	w.t.Helper()
	if _, err := w.fleet.SetPause(w.ctx(), &vigilv1.SetPauseRequest{Scope: scope, Pause: new(on),
		By: "alice", Reason: "a test"}); err != nil {
		w.t.Fatalf("pause: %v", err)
	}
}

// ends waits until nothing of an agent runs, as the cluster sees it.
func (w *world) ends(name string) {
	w.t.Helper()
	w.eventually(name+" ends", func() error {
		if a := w.agent(name); a.GetProcess() != "none" || a.GetParticipant() != "DISCONNECTED" {
			return errors.New(w.describe())
		}
		return nil
	})
}

// powerCycle takes a host's power away and gives it back.
func (w *world) powerCycle(h *stand.Host) {
	w.t.Helper()
	if err := errors.Join(h.PowerOff(), h.On(), h.Start()); err != nil {
		w.t.Fatal(err)
	}
	w.settled()
}

// replaceDaemon ends an agentd as its machine's administrator would, and starts it.
func (w *world) replaceDaemon(h *stand.Host) {
	w.t.Helper()
	if err := h.Signal(h.Process.PID, sigTerm); err != nil {
		w.t.Fatal(err)
	}
	select {
	case <-h.Process.Done():
	case <-time.After(patience):
		w.t.Fatalf("agentd of %s does not end", h.Name)
	}
	if err := h.Start(); err != nil {
		w.t.Fatal(err)
	}
}

// restore gives a host its own configuration back.
func restore(t *testing.T, w *world, h *stand.Host) {
	t.Helper()
	if err := h.Configure(64); err != nil {
		t.Error(err)
		return
	}
	w.replaceDaemon(h)
}

// same checks that agents live the lives that they lived before.
func same(t *testing.T, before, after map[string]*ledger.Life) {
	t.Helper()
	for name, l := range before {
		if now := after[name]; now == nil || now.File != l.File {
			t.Errorf("%s does not live life %s any more", name, l.File)
		}
	}
}

// joins makes the test itself an agent of a role without a runner.
func (w *world) joins(slot string) *client.Worker {
	w.t.Helper()
	worker, err := client.Join(w.ctx(), shared.conn,
		client.WorkerConfig{Agent: w.slot(slot), MaxWait: 10 * time.Second})
	if err != nil {
		w.t.Fatalf("join: %v", err)
	}
	w.t.Cleanup(func() { _ = worker.Leave(w.ctx(), "the test is over") })
	return worker
}
