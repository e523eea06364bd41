package agentd

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// ending ends the daemon in the background.
func (r *rig) ending() <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.end() }()
	return done
}

// A drain hands the agents over: those whose stop is ordered go, the others stay,
// nothing new is started, beats go on, and the host leaves when it is empty.
func TestDrainWaitsForTheAgents(t *testing.T) {
	r := newRig(t, time.Minute, true, func(c *Config) { c.OnStop = Drain })
	a, b := r.start(t, "wait", 1, 1), r.start(t, "wait", 2, 1)
	drained(r.accepts)
	done := r.ending()
	if d := next(t, r.drains); d.GetKey() == "" || d.GetBoot() != "boot-1" ||
		d.GetDeadline().AsDuration() != DefaultDrainLimit {
		t.Errorf("drain %v", d)
	}
	r.stream.orders(t, order("stop", 1, 1, ""), order("start", 3, 1, "wait"))
	a.expect(t, "bye")
	if x := next(t, r.exits); x.GetAgent() != 1 || !x.GetOrdered() {
		t.Errorf("exit %v", x)
	}
	drained(r.beats)
	r.advance(16 * time.Second)
	for beat := next(t, r.beats); len(beat.GetAgents()) != 1 || beat.GetAgents()[0] != 2; beat = next(t, r.beats) {
	}
	b.conn.Write([]byte("hello\n"))
	b.expect(t, "heard hello")
	none(t, r.accepts, "a start was accepted")
	none(t, r.leaves, "the host has left")
	r.stream.orders(t, order("stop", 2, 1, ""))
	b.expect(t, "bye")
	next(t, r.leaves)
	if err := next(t, done); err != nil {
		t.Error(err)
	}
	none(t, r.agents, "an agent was started")
}

// A registration ends a drain that the host has asked for: a host that is still being
// drained asks again, for what is left of the time.
func TestRegistrationDoesNotEndTheDrain(t *testing.T) {
	r := newRig(t, time.Minute, true, func(c *Config) { c.OnStop = Drain })
	a := r.start(t, "wait", 1, 1)
	done := r.ending()
	next(t, r.drains)
	gone := true
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			defer func() { gone = false }()
			return &vigilv1.BeatResponse{HostGone: gone}, nil
		}
	})
	next(t, r.registers)
	r.advance(16 * time.Second)
	next(t, r.registers)
	if d := next(t, r.drains).GetDeadline().AsDuration(); d <= 0 || d > DefaultDrainLimit-16*time.Second {
		t.Errorf("drained for another %s", d)
	}
	r.stream.orders(t, order("stop", 1, 1, ""))
	a.expect(t, "bye")
	next(t, r.leaves)
	if err := next(t, done); err != nil {
		t.Error(err)
	}
}

// What is not handed over in time is ended.
func TestDrainIsBounded(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) {
		c.OnStop, c.DrainLimit, c.ShutdownLimit = Drain, 50*time.Millisecond, 100*time.Millisecond
	})
	a := r.start(t, "deaf", 1, 1)
	done := r.ending()
	a.gone(t)
	if x := next(t, r.exits); x.GetReason() != "host is shutting down" || !x.GetOrdered() {
		t.Errorf("exit %v", x)
	}
	next(t, r.leaves)
	if err := next(t, done); err != nil {
		t.Error(err)
	}
}

// A drain that no server takes leaves the agents running, and says so.
func TestDrainThatIsRefused(t *testing.T) {
	h := newHost(t)
	h.set(func() { h.onDrain = func() error { return no("superseded") } })
	d := h.start(t, func(s *daemonSpec) { s.OnStop = Drain })
	next(t, h.streams).orders(t, order("start", 1, 1, "wait"))
	a := next(t, h.agents)
	a.expect(t, "up")
	next(t, h.starts)
	d.terminate(t)
	if code := d.cmd.ProcessState.ExitCode(); code != 4 || !contains(d.log, errNotDrained.Error()) {
		t.Errorf("exit code %d: %s", code, d.log.String())
	}
	none(t, h.leaves, "the host has left")
	a.conn.Write([]byte("hello\n"))
	a.expect(t, "heard hello")
	h.clear(t)
}

// What waits in the journal when the daemon ends is kept for the next one.
func TestReportsOutliveTheDaemon(t *testing.T) {
	h := newHost(t)
	h.set(func() { h.onExit = func(*vigilv1.ReportExitRequest) error { return no("unavailable") } })
	d := h.start(t)
	next(t, h.registers)
	next(t, h.streams).orders(t, order("start", 1, 1, "wait"))
	a := next(t, h.agents)
	a.expect(t, "up")
	next(t, h.starts)
	a.conn.Close() // it ends by itself
	next(t, h.exits)
	d.stop(t)
	if left, _ := filepath.Glob(filepath.Join(h.spec.Dir, "lives", "*")); len(left) != 1 {
		t.Errorf("journal: %v", left)
	}
	drained(h.exits)
	h.set(func() { h.onExit = nil })
	d = h.start(t)
	if x := next(t, h.exits); x.GetCode() != 7 || x.GetOrdered() {
		t.Errorf("exit %v", x)
	}
	if i := next(t, h.registers).GetInventory(); len(i) != 1 || i[0].GetAgent() != 1 || i[0].GetIncarnation() != 1 {
		t.Errorf("inventory %v", i)
	}
	d.stop(t)
	h.clear(t)
	none(t, h.exits, "reported although the cluster knew")
}

func TestStopsThatAreNotKnown(t *testing.T) {
	f := newFake(t, time.Minute)
	config := Config{DataDir: t.TempDir(), Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
		Shim: shimCommand(), Stops: Stops{OnStop: "later"}}
	if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "keep, drain or end") {
		t.Errorf("error %v", err)
	}
	config.OnStop = ""
	a, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.config.OnStop != Keep {
		t.Errorf("the default is %q", a.config.OnStop)
	}
}

// At the end of the machine agents are ended while their ends can be told, and the host says
// good-bye: nobody has to wait for its leases and fences.
func TestA09AgentsEndBeforeTheMachineGoesDown(t *testing.T) {
	for _, down := range []bool{true, false} {
		r := newRig(t, time.Minute, true, func(c *Config) { c.OnStop, c.Rebooting = Keep, func() bool { return down } })
		a := r.start(t, "wait", 1, 1)
		done := r.ending()
		if down {
			a.expect(t, "bye")
			if x := next(t, r.exits); x.GetAgent() != 1 || !x.GetOrdered() || x.GetReason() != "host is shutting down" {
				t.Errorf("exit %v", x)
			}
			next(t, r.leaves)
		}
		if err := next(t, done); err != nil {
			t.Error(err)
		}
		if !down {
			a.conn.Write([]byte("hello\n"))
			a.expect(t, "heard hello")
			none(t, r.leaves, "the host has left")
			a.conn.Close() // ends it: nobody else will
			until(t, "its end", func() bool {
				ends, _ := filepath.Glob(filepath.Join(r.dir, "lives", "*", shim.ExitFile))
				return len(ends) == 1
			})
		}
	}
}

// A host that shuts down says so before an agent ends, so that no start is ordered there for one that does; where no
// leader takes the word, the agents end all the same.
func TestShutdownIsToldBeforeTheAgentsEnd(t *testing.T) {
	for _, heard := range []bool{true, false} {
		r := newRig(t, time.Minute, true)
		for next(t, r.pressures).GetReason() != "" {
		}
		a := r.start(t, "wait", 1, 1)
		taken := make(chan struct{})
		r.set(func() {
			r.onPress = func(*vigilv1.ReportPressureRequest) error {
				if !heard {
					return no("no_leader")
				}
				<-taken
				return nil
			}
		})
		done := r.ending()
		if p := next(t, r.pressures); p.GetReason() != "its agentd is shutting down" || p.GetHost() != 7 {
			t.Errorf("told %v", p)
		}
		a.conn.Write([]byte("hello\n"))
		a.expect(t, "heard hello")
		none(t, r.exits, "an agent ended before the word was taken")
		if close(taken); !heard {
			r.advance(2 * sayLimit)
		}
		a.expect(t, "bye")
		next(t, r.exits)
		next(t, r.leaves)
		if err := next(t, done); err != nil {
			t.Error(err)
		}
	}
}
