package agentd

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// L10: a registration brings a lost host back into service, and the planner would
// replace what it does not yet know to live. So the first word of a new daemon is a
// beat for all that it has taken over.
func TestBeatGoesBeforeTheRegistration(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.registers)
	next(t, h.streams).orders(t, order("start", 1, 1, "sleep"))
	next(t, h.starts)
	for range 3 {
		d.kill(t)
		drained(h.registers)
		var proved atomic.Bool
		h.set(func() {
			h.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
				if len(b.GetAgents()) == 1 && b.GetHost() == 7 {
					proved.Store(true)
				}
				return &vigilv1.BeatResponse{}, nil
			}
			h.onRegister = func(*vigilv1.RegisterRequest) error {
				if !proved.Load() {
					t.Error("the host registers before it has proved what lives on it")
				}
				return nil
			}
		})
		d = h.start(t)
		next(t, h.registers)
	}
	h.set(func() { h.onRegister = nil })
	d.kill(t)
	h.clear(t)
}

// Incident I121: a daemon that never lives to register keeps the fences of its agents.
func TestDaemonThatDiesBeforeItRegistersBeats(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.registers)
	next(t, h.streams).orders(t, order("start", 1, 1, "sleep"))
	next(t, h.starts)
	h.set(func() { h.onRegister = func(*vigilv1.RegisterRequest) error { return no("no_leader") } })
	for range 5 {
		d.kill(t)
		drained(h.beats)
		d = h.start(t)
		if b := next(t, h.beats); len(b.GetAgents()) != 1 || b.GetKinds()[0]&beatFence == 0 ||
			b.GetBoot() == "" || b.GetHost() != 7 {
			t.Errorf("first beat %v", b)
		}
	}
	h.set(func() { h.onRegister = nil })
	d.kill(t)
	h.clear(t)
}

// A number that the cluster does not know any more is no obstacle.
func TestForgottenHostRegisters(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.registers)
	next(t, h.streams).orders(t, order("start", 1, 1, "sleep"))
	next(t, h.starts)
	d.kill(t)
	drained(h.beats)
	var known atomic.Bool
	h.set(func() {
		h.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			return &vigilv1.BeatResponse{HostGone: !known.Load()}, nil
		}
		h.onRegister = func(*vigilv1.RegisterRequest) error { known.Store(true); return nil }
	})
	d = h.start(t)
	if r := next(t, h.registers); len(r.GetInventory()) != 1 {
		t.Errorf("registered with %v", r)
	}
	if b := next(t, h.beats); b.GetHost() != 7 {
		t.Errorf("first beat %v", b)
	}
	d.kill(t)
	h.clear(t)
}

// A guest that was reverted to a snapshot in which it ran has an earlier clock under the same boot: its
// registration is refused until the clock has passed the old time. The log says so once, by name, and the
// host registers as soon as it is taken; it never gives another time than its clock says.
func TestClockThatWentBackIsNamed(t *testing.T) {
	r, _ := newPuppetRig(t, true)
	first := next(t, r.registers)
	r.set(func() {
		r.onRegister = func(*vigilv1.RegisterRequest) error { return no("superseded") }
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			return &vigilv1.BeatResponse{HostGone: true}, nil
		}
	})
	r.advance(16 * time.Second)
	for range 3 {
		again := next(t, r.registers)
		if now := uint64(r.now()); again.GetTaken() < first.GetTaken() || again.GetTaken() > now {
			t.Errorf("taken at %d, first at %d, now it is %d", again.GetTaken(), first.GetTaken(), now)
		}
		r.advance(time.Minute)
	}
	until(t, "the remedy", func() bool { return strings.Contains(r.log.String(), "until it is rebooted") })
	if n := strings.Count(r.log.String(), "until it is rebooted"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
	r.set(func() { r.onRegister, r.onBeat = nil, nil })
	r.advance(time.Minute)
	until(t, "the registration", func() bool { return strings.Count(r.log.String(), "host registered") == 2 })
}

// L10: a host that was cut off and is told to register again beats first; as long as
// no beat is answered it registers with nobody, and opens no stream by which servers
// would trust it.
func TestCutHostBeatsBeforeItRegisters(t *testing.T) {
	r, p := newPuppetRig(t, true)
	next(t, r.registers)
	r.stream.orders(t, order("start", 1, 1, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	var answered atomic.Bool
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
		r.onRegister = func(*vigilv1.RegisterRequest) error {
			if !answered.Load() {
				t.Error("the host registers before it has proved what lives on it")
			}
			return nil
		}
	})
	r.advance(2 * time.Minute)
	for range 3 {
		drained(r.beats)
		next(t, r.beats)
		r.advance(2 * time.Second)
	}
	r.stream.end <- no("not_found")
	for range 3 {
		drained(r.beats)
		next(t, r.beats)
		r.advance(2 * time.Second)
	}
	none(t, r.streams, "a stream was opened")
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			answered.Store(true)
			return &vigilv1.BeatResponse{}, nil
		}
	})
	r.advance(2 * time.Second)
	next(t, r.registers)
	next(t, r.streams)
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// When beats are acknowledged again, what waits for the cluster is told at once, and
// spools are looked into: again when a look is under way, which may just have failed.
func TestEverythingIsToldWhenBeatsAreAcknowledgedAgain(t *testing.T) {
	for _, underway := range []bool{false, true} {
		a, err := Open(Config{DataDir: t.TempDir(), Name: "h1", Conn: newFake(t, time.Minute).conn,
			Addrs: []string{"127.0.0.1:7420"}, Seams: Seams{Boot: "boot-1"}, Shim: shimCommand()})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		k := a.keeper(t.Context(), nil)
		k.spools.due, k.spools.underway = time.Hour, underway
		waiting := k.outbox.again.next()
		k.beats.acknowledged(0, nil, &vigilv1.BeatResponse{}, nil)
		select {
		case <-waiting:
			t.Error("told although the cluster has answered all the time")
		default:
		}
		k.beats.acknowledged(0, nil, nil, no("unavailable"))
		k.beats.acknowledged(0, nil, &vigilv1.BeatResponse{}, nil)
		if k.spools.due != 0 || k.spools.again != underway {
			t.Errorf("with a look under way %v: %+v", underway, k.spools)
		}
		select {
		case <-waiting:
		default:
			t.Error("reports wait for the end of their pause")
		}
	}
}

// A pause between attempts ends when the cluster is known to answer.
func TestPausesEndWhenTheClusterAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var again resumed
		var down atomic.Bool
		down.Store(true)
		began, attempts := time.Now(), 0
		done := make(chan time.Duration, 1)
		go func() {
			if err := insist(t.Context(), &again, func(context.Context) error {
				if attempts++; down.Load() {
					return no("unavailable")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			done <- time.Since(began)
		}()
		const outage = time.Minute + 100*time.Millisecond
		time.Sleep(outage)
		synctest.Wait()
		down.Store(false)
		again.tell()
		synctest.Wait()
		if took := <-done; took != outage || attempts < 30 {
			t.Errorf("told after %s in %d attempts, the outage lasted %s", took, attempts, outage)
		}
	})
}

// A host that was away until the cluster forgot it is told once what to do, and is taken as soon as that is done.
func TestForgottenIdentityIsToldWhatToDo(t *testing.T) {
	var asked atomic.Int32
	r := &rig{fake: newFake(t, time.Minute), dir: t.TempDir(), agents: make(chan *agentTalk, 1), log: &lockedBuffer{}}
	r.set(func() {
		r.onRegister = func(*vigilv1.RegisterRequest) error {
			if asked.Add(1) > 3 {
				return nil
			}
			return no("auth_denied")
		}
	})
	r.configure(t, false) // until it is registered
	if log := r.log.String(); strings.Count(log, "does not take this host's identity: it was away") != 1 ||
		!strings.Contains(log, "vigil agentd join TOKEN") || !strings.Contains(log, filepath.Join(r.dir, "trust")) {
		t.Errorf("it is not told once:\n%s", log)
	}
}
