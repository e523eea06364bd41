package agentd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// disown has beats about the first lives of agents answered with this verdict.
func (r *rig) disown(verdict string) {
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			answer := &vigilv1.BeatResponse{}
			for i, a := range b.GetAgents() {
				if b.GetIncarnations()[i] == 1 {
					answer.Exceptions = append(answer.Exceptions,
						&vigilv1.BeatException{Agent: a, Incarnation: 1, Verdict: verdict})
				}
			}
			return answer, nil
		}
	})
}

// L6, L7: a life that the cluster does not cover any more is killed at once, whatever its grace, though its
// switch has noticed nothing: the clock of a guest stands still while its hypervisor has stopped it, and the
// successor may run elsewhere since. A newer one on the same host waits for its end.
func TestSupersededBeatStops(t *testing.T) {
	for _, verdict := range []string{"superseded", "unknown"} {
		t.Run(verdict, func(t *testing.T) {
			r := newRig(t, time.Minute, true)
			o := order("start", 1, 1, "wait")
			o.StopGrace = durationpb.New(MaxStopGrace)
			r.stream.orders(t, o)
			a := next(t, r.agents)
			a.expect(t, "up")
			next(t, r.starts)
			r.disown(verdict)
			r.advance(16 * time.Second)
			for words := next(t, a.words); words != ""; words = next(t, a.words) {
				if strings.Contains(words, "bye") {
					t.Error("it was asked to end, and went on until it did")
				}
			}
			if x := next(t, r.exits); x.GetReason() != "superseded" || x.GetSignal() != "killed" || !x.GetOrdered() {
				t.Errorf("exit %v", x)
			}
			if strings.Contains(r.log.String(), "is frozen") {
				t.Error("it was frozen before, so this shows nothing")
			}
			r.start(t, "wait", 1, 2)
		})
	}
}

// A life that is superseded while a human's stop gives it time to end is killed, too; one that makes way
// for the next order on its own host has its grace.
func TestGraceOfLivesThatMakeWay(t *testing.T) {
	r := newRig(t, time.Minute, true)
	a := r.start(t, "wait", 1, 1)
	r.stream.orders(t, order("start", 1, 2, "wait"))
	a.expect(t, "bye")
	if x := next(t, r.exits); x.GetIncarnation() != 1 || x.GetSignal() == "killed" {
		t.Errorf("exit %v", x)
	}
	next(t, r.agents).expect(t, "up")
	next(t, r.starts)

	b := r.start(t, "deaf", 2, 1)
	stop := order("stop", 2, 1, "deaf")
	stop.StopGrace = durationpb.New(MaxStopGrace)
	r.stream.orders(t, stop)
	b.expect(t, "deaf to SIGTERM")
	r.disown("superseded")
	r.advance(16 * time.Second)
	b.gone(t)
	if x := next(t, r.exits); x.GetAgent() != 2 || x.GetSignal() != "killed" || !x.GetOrdered() {
		t.Errorf("exit %v", x)
	}
}

// L7: without an acknowledged beat for 0.75 TTL the tree is frozen; a beat that is
// answered current thaws it, and the work goes on.
func TestLostConnectionFreezesAndThaws(t *testing.T) {
	r := newRig(t, time.Minute, true)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	a := next(t, r.agents)
	a.expect(t, "up")
	next(t, r.starts)
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
	})
	r.advance(40 * time.Second)                  // the clock goes on by itself, too, while a process starts
	for len(next(t, r.beats).GetAgents()) == 0 { // a look at the clock has happened
	}
	if strings.Contains(r.log.String(), "is frozen") {
		t.Fatal("frozen before 0.75 TTL")
	}
	r.advance(6 * time.Second)
	until(t, "the freeze", func() bool { return strings.Contains(r.log.String(), "is frozen") })
	a.conn.Write([]byte("again\n"))
	none(t, r.exits, "the fence is no crash")
	none(t, a.words, "a frozen agent speaks")
	r.set(func() { r.onBeat = nil })
	r.advance(time.Second)
	a.expect(t, "heard again")
	none(t, r.exits, "the work goes on")
}

// L10: an outage of the servers, however long, ends no life, whatever frozen_limit says; the limit runs
// while a leader answers and does not confirm the life.
func TestL10FrozenLimitRunsOnlyWhileALeaderAnswers(t *testing.T) {
	r := newRig(t, time.Minute, true, func(c *Config) { c.FrozenLimit = 30 * time.Minute })
	r.stream.orders(t, order("start", 1, 1, "wait"))
	a := next(t, r.agents)
	a.expect(t, "up")
	next(t, r.starts)
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
	})
	r.advance(46 * time.Second)
	until(t, "the freeze", func() bool { return strings.Contains(r.log.String(), "is frozen") })
	for range 3 * 24 {
		r.advance(time.Hour)
		next(t, r.beats)
	}
	none(t, r.exits, "an outage kills nobody")
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			answer := &vigilv1.BeatResponse{Ttl: durationpb.New(time.Minute)}
			for i := range b.GetAgents() {
				answer.Exceptions = append(answer.Exceptions,
					&vigilv1.BeatException{Agent: b.GetAgents()[i], Incarnation: b.GetIncarnations()[i],
						Verdict: "held"})
			}
			return answer, nil
		}
	})
	beats := 0
	for over := false; !over; beats++ {
		r.advance(15 * time.Second)
		select {
		case <-r.beats:
		case x := <-r.exits:
			if over = true; !strings.Contains(x.GetReason(), "frozen for 30m0s") || !x.GetOrdered() {
				t.Errorf("exit %v", x)
			}
		}
	}
	if beats < 100 {
		t.Errorf("ended after %d beats of a leader", beats)
	}
	a.gone(t)
}

// A frozen life that is superseded does not run for another moment.
func TestFrozenAndSupersededIsKilledAtOnce(t *testing.T) {
	r := newRig(t, time.Minute, true)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	a := next(t, r.agents)
	a.expect(t, "up")
	next(t, r.starts)
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
	})
	r.advance(46 * time.Second)
	until(t, "the freeze", func() bool { return strings.Contains(r.log.String(), "is frozen") })
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			return &vigilv1.BeatResponse{Exceptions: []*vigilv1.BeatException{{Agent: 1, Incarnation: 1,
				Verdict: "superseded"}}}, nil
		}
	})
	r.advance(2 * time.Second)
	a.gone(t)
	if x := next(t, r.exits); x.GetSignal() != "killed" || x.GetReason() != "superseded" {
		t.Errorf("exit %v", x)
	}
}

func TestHostGoneRegistersAgainWithInventory(t *testing.T) {
	r := newRig(t, time.Minute, true)
	if first := next(t, r.registers); len(first.GetInventory()) != 0 || first.GetBoot() != "boot-1" ||
		len(first.GetRunners()) != 9 {
		t.Errorf("first registration %v", first)
	}
	a := r.start(t, "wait", 3, 5)
	gone := true
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			defer func() { gone = false }()
			return &vigilv1.BeatResponse{HostGone: gone}, nil
		}
	})
	r.advance(16 * time.Second)
	again := next(t, r.registers)
	if len(again.GetInventory()) != 1 || again.GetInventory()[0].GetAgent() != 3 ||
		again.GetInventory()[0].GetIncarnation() != 5 ||
		again.GetInventory()[0].GetPid() == 0 {
		t.Errorf("inventory %v", again.GetInventory())
	}
	a.conn.Write([]byte("hello\n"))
	a.expect(t, "heard hello")
}

func TestBeatsCarryAllAgentsInOneCall(t *testing.T) {
	r := newRig(t, time.Minute, true)
	for agent := uint32(3); agent > 0; agent-- {
		r.start(t, "wait", agent, uint64(agent))
	}
	r.advance(16 * time.Second)
	for {
		b := next(t, r.beats)
		if len(b.GetAgents()) < 3 {
			continue
		}
		if got := fmt.Sprintln(b.GetAgents(), b.GetIncarnations(), b.GetKinds(), b.GetHost(),
			b.GetBoot()); got != "[1 2 3] [1 2 3] [6 6 6] 7 boot-1\n" {
			t.Errorf("beat %v", b)
		}
		return
	}
}
