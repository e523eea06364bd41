package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// L3: whatever the state, the reason why an agent does or does not run is shown.
func TestWhyCodes(t *testing.T) {
	crash := func(d *drive, h noun.HostID, n int) {
		for range n {
			for d.agent("demo/b").NotBefore > d.clock {
				d.beat(h, 0)
				d.pass(time.Second)
			}
			sp := d.start("demo/b", h)
			d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
		}
	}
	cases := map[string]func(d *drive, h noun.HostID){
		"start_due":  func(*drive, noun.HostID) {},
		"order_open": func(d *drive, h noun.HostID) { d.must(OrderStart{Agent: 1, Inc: 1, Host: h}) },
		"starting": func(d *drive, h noun.HostID) {
			d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
			d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1})
		},
		"not_joined": func(d *drive, h noun.HostID) { d.start("demo/b", h) },
		"running": func(d *drive, h noun.HostID) {
			d.must(Join{Speaker: d.start("demo/b", h)})
		},
		"stopping": func(d *drive, h noun.HostID) {
			d.start("demo/b", h)
			d.must(SetAgent{Agent: "demo/b", Stop: true})
		},
		"stopped":     func(d *drive, _ noun.HostID) { d.must(SetAgent{Agent: "demo/b", Stop: true}) },
		"paused":      func(d *drive, _ noun.HostID) { d.must(SetPause{Scope: "demo/b", Pause: true}) },
		"room_paused": func(d *drive, _ noun.HostID) { d.must(SetPause{Scope: "demo", Pause: true}) },
		"all_paused":  func(d *drive, _ noun.HostID) { d.must(SetPause{Pause: true}) },
		"unkillable": func(d *drive, h noun.HostID) {
			d.start("demo/b", h)
			d.must(ReportStuck{Host: h, Agent: 1, Inc: 1, Reason: "x"})
		},
		"unheard": func(d *drive, h noun.HostID) {
			d.must(Join{Speaker: d.start("demo/b", h)})
			d.must(SuspectHost{Host: h, Suspect: true, Reason: "no server hears it"})
		},
		"by_hand":  func(d *drive, _ noun.HostID) { d.hand("demo/b") },
		"back_off": func(d *drive, h noun.HostID) { crash(d, h, 2) },
		"parked":   func(d *drive, h noun.HostID) { crash(d, h, 5) },
		"hold":     func(d *drive, _ noun.HostID) { d.must(RaiseEpoch{Hold: time.Minute}) },
		"no_host":  func(d *drive, _ noun.HostID) { d.must(LeaveHost{Key: "h1", Boot: "boot1"}) },
		"no_task": func(d *drive, _ noun.HostID) {
			d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Start = noun.StartOnDemand }))
		},
		"no_runner": func(d *drive, _ noun.HostID) {
			d.room("demo", noun.RoleSpec{Name: "b"})
		},
		"retired": func(d *drive, h noun.HostID) {
			d.start("demo/b", h)
			d.room("demo", managed("c"))
		},
		"deleting": func(d *drive, h noun.HostID) {
			d.start("demo/b", h)
			d.must(DeleteRoom{Room: "demo"})
		},
		"unknown": func(d *drive, _ noun.HostID) { d.must(DeleteRoom{Room: "demo"}) },
	}
	for code, prepare := range cases {
		t.Run(code, func(t *testing.T) {
			d := newDrive(t)
			h := d.host("h1", "worker")
			d.room("demo", managed("b"))
			prepare(d, h)
			w := d.s.Why(1)
			if w.Code != code || w.Text == "" {
				t.Fatalf("%+v", w)
			}
			timed := map[string]bool{"order_open": true, "not_joined": true, "by_hand": true, "back_off": true,
				"parked": true, "hold": true,
				"unheard": true}
			if timed[code] != (w.Left > 0) {
				t.Fatalf("time left: %s", w.Left)
			}
		})
	}
}

// A role that is declared as stopped says what to do about it.
func TestWhyDeclaredStopped(t *testing.T) {
	d := newDrive(t)
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Desired = noun.DesiredStopped }))
	if w := d.s.Why(1); w.Code != "stopped" {
		t.Fatalf("%+v", w)
	}
	d.room("demo", managed("b"))
	if w := d.s.Why(1); w.Code != "no_host" {
		t.Fatalf("%+v", w)
	}
}

// N22: an agent whose host is not heard is not said to run and to work, and it is said for how long
// nothing was heard: not since the last beat, when the stream was heard after it.
func TestN22AnAgentOfAnUnheardHostIsNotSaidToWork(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	me := d.start("demo/b", h)
	d.must(Join{Speaker: me})
	d.must(CreateTask{Room: "demo", Role: "b", Title: "t"})
	d.must(Claim{Speaker: me})
	says := func(want string) {
		t.Helper()
		w := d.s.Why(1)
		v := d.s.Verdict(1, true)
		if w.Code != "unheard" || !strings.Contains(w.Text, want) || !strings.Contains(w.Text, "task 1") ||
			strings.Contains(w.Text, "working") {
			t.Errorf("why: %+v, want %q", w, want)
		}
		if v.Kind != judge.AgentSuspect || !strings.Contains(v.Because(), want) {
			t.Errorf("verdict %s: %s, want %q", v.Kind, v.Because(), want)
		}
	}
	if w := d.s.Why(1); w.Text != "working on task 1" {
		t.Errorf("%+v", w)
	}
	d.beat(h, BeatLease|BeatFence, 1)
	d.pass(12 * time.Second) // no beat, and its stream goes silent 5 s before that is noticed
	d.must(SuspectHost{Host: h, Suspect: true, Reason: "no server hears it"})
	says("for 5s")
	d.pass(10 * time.Second)
	says("for 15s")
	d.beat(h, BeatLease|BeatFence, 1)
	d.must(SuspectHost{Host: h})
	if w := d.s.Why(1); w.Text != "working on task 1" {
		t.Errorf("heard again: %+v", w)
	}
}
