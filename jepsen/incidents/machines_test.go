//go:build linux

package incidents

import (
	"errors"
	"sync"
	"syscall"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// set changes settings of the cluster until the end of the test.
func (w *world) set(values map[string]string) {
	w.t.Helper()
	before, err := w.cluster.GetSettings(w.ctx(), &vigilv1.GetSettingsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	old := map[string]string{}
	for name := range values {
		old[name] = before.GetValues()[name]
	}
	put := func(values map[string]string) error {
		_, err := w.cluster.PutSettings(w.ctx(), &vigilv1.PutSettingsRequest{By: "test", Values: values})
		return err
	}
	if err := put(values); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := put(old); err != nil {
			w.t.Errorf("put settings back: %v", err)
		}
	})
}

// cut takes packets of a machine away; heal and the end of the test bring them back.
func (w *world) cut(m *stand.Machine, c stand.Cut) {
	w.t.Helper()
	if err := m.Cut(c); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := m.Heal(); err != nil && !errors.Is(err, stand.ErrDown) {
			w.t.Errorf("heal %s: %v", m.Name, err)
		}
	})
}

func (w *world) heal(m *stand.Machine) {
	w.t.Helper()
	if err := m.Heal(); err != nil {
		w.t.Fatal(err)
	}
}

// cast sets what happens on the wires between a machine and the servers, until it is
// set anew or the test ends.
func (w *world) cast(m *stand.Machine, s stand.Spell) {
	w.Wires.Cast(m, s)
	w.t.Cleanup(func() { w.Wires.Cast(m, stand.Spell{}) })
}

// freeze stops one process until it is thawed or the test ends. The lives of its
// host are excused for that time where pause says so: their shims cannot act.
func (w *world) freeze(m *stand.Machine, pid int) (thaw func()) {
	w.t.Helper()
	if err := m.Signal(pid, syscall.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
	began := ledger.Now()
	thaw = sync.OnceFunc(func() {
		_ = m.Signal(pid, syscall.SIGCONT) // it may have been killed
		w.pauses = append(w.pauses, ledger.Pause{Host: m.Name, From: began, To: ledger.Now()})
	})
	w.t.Cleanup(thaw)
	return thaw
}

// killServer kills a server until it is started again or the test ends.
func (w *world) killServer(sv *stand.Server) (start func()) {
	w.t.Helper()
	return w.down(sv.Name, sv)
}

// killHost kills the agentd of a host until it is started again or the test ends.
func (w *world) killHost(h *stand.Host) (start func()) {
	w.t.Helper()
	return w.down(h.Name, h)
}

// down kills what runs on a machine until it is started again or the test ends.
func (w *world) down(name string, p interface {
	Kill() error
	Start() error
}) (start func()) {
	w.t.Helper()
	if err := p.Kill(); err != nil {
		w.t.Fatal(err)
	}
	start = sync.OnceFunc(func() {
		if err := p.Start(); err != nil {
			w.t.Errorf("start %s: %v", name, err)
		}
	})
	w.t.Cleanup(start)
	return start
}

// only has new agents start on one host alone until it is undone or the test ends:
// the others are drained.
func (w *world) only(on *stand.Host) (undo func()) {
	w.t.Helper()
	drain := func(off bool) {
		for _, h := range w.Hosts {
			if h == on {
				continue
			}
			if _, err := w.fleet.DrainHost(w.ctx(), &vigilv1.DrainHostRequest{Host: h.Name, Off: off,
				By: "test"}); err != nil {
				w.t.Errorf("drain %s: %v", h.Name, err)
			}
		}
	}
	drain(false)
	undo = sync.OnceFunc(func() { drain(true) })
	w.t.Cleanup(undo)
	return undo
}

// extra makes one more host for this test, switched on, on which so many agents have
// room; its agentd is not started. Nothing of it is left at the end of the test.
func (w *world) extra(name string, number, capacity int) *stand.Host {
	w.t.Helper()
	h, err := w.NewHost(name, number)
	if err == nil {
		err = h.Configure(capacity)
	}
	if err == nil {
		err = h.On()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := h.PowerOff(); err != nil {
			w.t.Error(err)
		}
		// Beats that are still on their way make it ready once more.
		w.eventually("host "+name+" is forgotten", func() error {
			_, err := w.fleet.ConfirmDead(w.ctx(), &vigilv1.ConfirmDeadRequest{Host: name, Force: true, By: "test"})
			if err == nil {
				_, err = w.fleet.ForgetHost(w.ctx(), &vigilv1.ForgetHostRequest{Host: name, By: "test"})
			}
			if errors.Is(err, client.ErrNotFound) {
				return nil
			}
			return err
		})
	})
	return h
}
