package fsm

import (
	"testing"
	"time"

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
			timed := map[string]bool{"order_open": true, "not_joined": true, "by_hand": true, "back_off": true, "parked": true, "hold": true}
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
