//go:build linux

package shim

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/agentd/proc"
)

// L7: without an acknowledged beat for 0.75 TTL the whole tree is frozen, though no
// agentd may be left to do it; a later beat thaws it and the work goes on.
func TestL7FrozenWithoutBeatsThawedByOne(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		s, a, children := r.start(r.spec("deaf+group+session"))
		all := append(children, a)
		r.advance(44 * time.Minute)
		for _, one := range all {
			one.ask("print awake")
		}
		r.advance(time.Minute)
		until(t, "word of the freeze", s.Frozen)
		for _, one := range all {
			until(t, "frozen "+one.mode, func() bool { return frozen(s, one.pid) })
			one.tell("print late")
		}
		s.Acknowledge(r.now() - 46*time.Minute) // an old answer
		s.Acknowledge(r.now() - time.Minute)
		for _, one := range all {
			one.await("did print late")
		}
		until(t, "word of the thaw", func() bool { return !s.Frozen() })
		until(t, "notes", func() bool {
			log := r.logged()
			return strings.Count(log, "is frozen") == 1 && strings.Count(log, "goes on") == 1
		})
		s.Stop(0, "superseded")
		if exit := wait(t, s); !exit.Ordered || exit.Reason != "superseded" {
			t.Errorf("exit %+v", exit)
		}
	})
}

// The same with nobody there to talk to: agentd is dead.
func TestL7FreezesWithoutAgentd(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		cmd := r.daemon("deaf")
		a, _ := r.up(0)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		r.advance(time.Hour)
		s, err := Adopt(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		until(t, "freeze", func() bool { return frozen(s, a.pid) })
		until(t, "word of it", s.Frozen)
		s.Stop(time.Hour, "drained") // its grace would be of no use
		if exit := wait(t, s); exit.Signal != "killed" || !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
	})
}

// L7: a tree that forks without end, out of its session at every step, is frozen
// or, where that cannot be, killed; it does not go on.
func TestL7ATreeThatForksWithoutEnd(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		s, a, _ := r.start(r.spec("deaf"))
		a.ask("chain")
		r.advance(50 * time.Minute)
		until(t, "word of the freeze", s.Frozen)
		if !r.bare {
			until(t, "frozen", func() bool { return frozen(s, a.pid) })
		}
		s.Stop(0, "superseded")
		if exit := wait(t, s); !exit.Ordered || exit.Signal != "killed" {
			t.Errorf("exit %+v", exit)
		}
		if left := scans.Find(markOf(r.folder)); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
}

// L10: days without an acknowledged beat end nothing: the agent stays frozen and goes on afterwards. With a
// run limit too, which does not run meanwhile.
func TestL10FrozenForDaysGoesOn(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		spec := r.spec("deaf+session")
		spec.RunLimit = 24 * time.Hour
		s, a, _ := r.start(spec)
		r.advance(50 * time.Minute)
		until(t, "freeze", s.Frozen)
		for range 9 {
			r.pass(24 * time.Hour)
		}
		r.pass(time.Hour) // what the look before has done is done
		until(t, "frozen "+a.mode, func() bool { return frozen(s, a.pid) })
		s.Acknowledge(r.now())
		until(t, "word of the thaw", func() bool { return !s.Frozen() })
		until(t, "thawed "+a.mode, func() bool { return !frozen(s, a.pid) })
		s.Stop(0, "superseded")
		if exit := wait(t, s); exit.Reason != "superseded" || !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
	})
}

// Where that is asked for, a life for which no agentd comes any more is ended, and is not charged for it.
func TestOrphanLimitEndsWhatNobodyWatches(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		spec := r.spec("deaf+session")
		spec.OrphanLimit = time.Hour
		s, a, _ := r.start(spec)
		r.advance(50 * time.Minute)
		until(t, "freeze", s.Frozen)
		r.advance(2 * time.Hour) // an agentd is there
		until(t, "frozen "+a.mode, func() bool { return frozen(s, a.pid) })
		s.Close()
		var exit Exit
		until(t, "its end", func() bool {
			r.advance(10 * time.Minute)
			return readRecord(r.folder, ExitFile, &exit) == nil
		})
		if !exit.Ordered || exit.TimedOut || !strings.Contains(exit.Reason, "no agentd has come for it in 1h0m0s") {
			t.Errorf("exit %+v", exit)
		}
	})
}

// L6, L7: a shim that was stopped past F judges its switch before anything else,
// and a beat that was acknowledged meanwhile counts only from when it was sent.
func TestL7ShimStoppedPastItsPatience(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		s, a, _ := r.start(r.spec("deaf"))
		if err := syscall.Kill(s.Started().Shim, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		until(t, "stopped", func() bool { return frozen(&Shim{}, s.Started().Shim) })
		s.Acknowledge(r.now())
		r.advance(50 * time.Minute)
		if err := syscall.Kill(s.Started().Shim, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		until(t, "freeze", s.Frozen)
		until(t, "frozen "+a.mode, func() bool { return frozen(s, a.pid) })
		s.Stop(0, "superseded")
		wait(t, s)
	})
}

// L7: when the shim is killed its agent dies with it, and what has left its group
// is found by its mark before anybody calls the life ended.
func TestL7ShimKilledNothingIsLeft(t *testing.T) {
	for _, freeze := range []bool{false, true} {
		onEveryHost(t, func(t *testing.T, r *rig) {
			s, a, children := r.start(r.spec("deaf+group+session"))
			if freeze {
				r.advance(50 * time.Minute)
				until(t, "freeze", s.Frozen)
			}
			if err := syscall.Kill(s.Started().Shim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			exit := wait(t, s)
			if !exit.Vanished || exit.Code != -1 || exit.Reason == "" {
				t.Errorf("exit %+v", exit)
			}
			for _, one := range append(children, a) {
				one.ended()
			}
			for _, group := range s.Started().Groups {
				if _, err := os.Stat(group); err == nil {
					t.Errorf("control group %s is left", group)
				}
			}
		})
	}
}

// Foreign processes never get a signal: not one with the same name and environment
// but another mark, and not one that carries a number which was written down.
func TestForeignProcessesAreSpared(t *testing.T) {
	r := newRig(t)
	foreign := func(mark proc.Mark) *exec.Cmd {
		cmd := exec.Command("/bin/sleep", "300")
		cmd.Env = []string{mark.Env()}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	mark := markOf(r.folder)
	others := []*exec.Cmd{
		foreign(proc.Mark{Host: mark.Host, Agent: mark.Agent, Incarnation: mark.Incarnation + 1}),
		foreign(proc.Mark{Host: mark.Host, Agent: mark.Agent + 1, Incarnation: mark.Incarnation}),
		foreign(proc.Mark{Host: mark.Host + "x", Agent: mark.Agent, Incarnation: mark.Incarnation}),
	}
	own := foreign(mark)
	recycled := foreign(proc.Mark{})
	// A record that names a number which somebody else has by now.
	if err := os.WriteFile(r.folder+"/"+LockFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeRecord(r.folder, StartedFile, Started{PID: recycled.Process.Pid, PIDStart: 1,
		Shim: recycled.Process.Pid, ShimStart: 1, Mark: mark}, false); err != nil {
		t.Fatal(err)
	}
	if exit := Bury(r.folder, mark, func(string) {}); !exit.Vanished {
		t.Errorf("exit %+v", exit)
	}
	_ = own.Wait()
	if own.ProcessState.ExitCode() != -1 {
		t.Errorf("the life's own: %v", own.ProcessState)
	}
	// A hold on a recycled number is refused, and so is a stop through it.
	if h, err := openHandle(recycled.Process.Pid, 1); err == nil {
		h.close()
		t.Error("took hold of a foreign process")
	}
	for _, cmd := range append(others, recycled) {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("foreign process: %v", err)
		}
		if text, _ := os.ReadFile("/proc/" + itoa(cmd.Process.Pid) + "/stat"); strings.Contains(string(text), ") Z") {
			t.Error("a foreign process was killed")
		}
	}
}

// A stop is passed on to a shim that was away when it was said.
func TestStopReachesAShimThatWasStopped(t *testing.T) {
	r := newRig(t)
	s, a, _ := r.start(r.spec("polite"))
	if err := syscall.Kill(s.Started().Shim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "stopped", func() bool { return frozen(&Shim{}, s.Started().Shim) })
	s.Stop(time.Hour, "drain")
	again, err := Adopt(r.folder) // and so does a daemon that comes later
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	again.Stop(time.Hour, "drain again")
	if err := syscall.Kill(s.Started().Shim, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	a.await("bye")
	if exit := wait(t, s); !exit.Ordered || !strings.HasPrefix(exit.Reason, "drain") {
		t.Errorf("exit %+v", exit)
	}
	if exit := wait(t, again); !exit.Ordered {
		t.Errorf("exit %+v", exit)
	}
}

// A shim that hangs cannot hold up the end of a life that another one follows.
func TestStopOfADeafShimKillsIt(t *testing.T) {
	r := newRig(t)
	s, a, children := r.start(r.spec("deaf+session"))
	if err := syscall.Kill(s.Started().Shim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "stopped", func() bool { return frozen(&Shim{}, s.Started().Shim) })
	s.deaf = time.Millisecond
	s.Stop(0, "superseded")
	if exit := wait(t, s); !exit.Vanished || !exit.Ordered || !strings.HasPrefix(exit.Reason, "superseded (") {
		t.Errorf("exit %+v", exit)
	}
	for _, one := range append(children, a) {
		one.ended()
	}
}

// L10: the run limit does not run while the agent is frozen: an outage is not its
// fault.
func TestL10RunLimitStandsStillWhileFrozen(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.RunLimit = 80 * time.Minute
	s, a, _ := r.start(spec)
	r.advance(46 * time.Minute)
	until(t, "word of the freeze", s.Frozen)
	r.advance(50 * time.Minute)
	s.Acknowledge(r.now())
	until(t, "word of the thaw", func() bool { return !s.Frozen() })
	r.advance(30 * time.Minute)
	a.ask("print on")
	r.advance(5 * time.Minute)
	a.await("bye")
	if exit := wait(t, s); !exit.TimedOut || exit.Ordered {
		t.Errorf("exit %+v", exit)
	}
}

// Without any daemon the limit holds too, and says what ended the life.
func TestRunLimit(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.RunLimit = 5 * time.Minute
	s, a, _ := r.start(spec)
	r.advance(4 * time.Minute)
	a.ask("print x")
	r.advance(time.Minute)
	a.await("bye")
	if exit := wait(t, s); !exit.TimedOut || exit.Ordered || exit.Reason != "it reached its run limit of 5m0s" {
		t.Errorf("exit %+v", exit)
	}
}

// A program that is deaf to SIGTERM meets SIGKILL after the grace.
func TestRunLimitOfADeafAgent(t *testing.T) {
	r := newRig(t)
	spec := r.spec("deaf")
	spec.RunLimit, spec.StopGrace = time.Minute, time.Millisecond
	s, _, _ := r.start(spec)
	r.advance(time.Minute)
	if exit := wait(t, s); !exit.TimedOut || exit.Signal != "killed" {
		t.Errorf("exit %+v", exit)
	}
}

// A6: the run limit does not run while the machine sleeps. Eight hours of it froze the agent, which then goes on
// with the time that it had.
func TestA06RunLimitStandsStillWhileTheMachineSleeps(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.RunLimit = 2 * time.Hour
	s, a, _ := r.start(spec)
	r.sleep(8 * time.Hour)
	until(t, "word of the freeze", s.Frozen)
	s.Acknowledge(r.now())
	until(t, "word of the thaw", func() bool { return !s.Frozen() })
	a.ask("print on")
	for range 3 { // 90 min are used
		r.advance(30 * time.Minute)
		s.Acknowledge(r.now())
		a.ask("print on")
	}
	r.advance(29 * time.Minute)
	s.Acknowledge(r.now())
	a.ask("print on")
	r.advance(2 * time.Minute)
	a.await("bye")
	if exit := wait(t, s); !exit.TimedOut || exit.Ordered || !strings.Contains(exit.Reason, "run limit of 2h") {
		t.Errorf("exit %+v", exit)
	}
}
