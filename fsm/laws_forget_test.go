package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

const week = 7 * 24 * time.Hour

// gone tells whether host number n, called hn, is forgotten, and that an event says so.
func (d *drive) gone(h noun.HostID) bool {
	d.t.Helper()
	gone := d.s.Host(h) == nil
	said := false
	for e := range d.s.Events(0) {
		said = said || e.Kind == "host.forgotten" && e.Host == fmt.Sprintf("h%d", h)
	}
	if gone != said {
		d.t.Errorf("host %d is forgotten: %v, its event: %v", h, gone, said)
	}
	return gone
}

// Hosts that come and go are forgotten a week after their last beat, whether they said
// good-bye or not, also when the state was loaded in between; those in service never are.
func TestF14SilentHostsAreForgotten(t *testing.T) {
	d := newDrive(t)
	stays, lost, left := d.host("h1", "worker"), d.host("h2", "worker"), d.host("h3", "worker")
	d.must(LeaveHost{Key: "h3", Boot: "boot1"})
	d.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "1h"}}})
	for range 7*24 - 1 {
		d.beat(stays, 0)
		d.jump(time.Hour)
	}
	d.s = reload(t, d.s)
	d.beat(stays, 0)
	d.jump(59 * time.Minute)
	if d.gone(lost) || d.gone(left) {
		t.Fatal("forgotten too early")
	}
	d.jump(time.Minute)
	if d.gone(stays) || !d.gone(lost) || !d.gone(left) {
		t.Fatalf("after a week hosts 1, 2, 3 are forgotten: %v, %v, %v", d.gone(stays), d.gone(lost), d.gone(left))
	}
	if again := d.host("h2", "worker"); again == lost {
		t.Error("its number was used again")
	}
}

// L10: a host is kept as long as a life may be frozen there that goes on when it comes back,
// and forgotten when there is none any more.
func TestF14AHostWithALifeThatMayReturnIsKept(t *testing.T) {
	d := newDrive(t)
	h1 := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.start("demo/b", h1)
	d.jump(2 * week)
	if d.gone(h1) || d.agent("demo/b").Proc != noun.ProcLost {
		t.Fatalf("the host is forgotten: %v; its agent is %s", d.gone(h1), d.agent("demo/b").Proc)
	}
	if ans := d.beatAs(h1, 1, 1); len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictAdopt {
		t.Fatalf("the life that waited frozen is told %+v", ans)
	}
	d.jump(2 * week)
	h2 := d.host("h2", "worker")
	d.start("demo/b", h2)
	d.beatAs(h2, 1, 2)
	d.jump(core.ForgetAgain)
	if !d.gone(h1) || d.gone(h2) {
		t.Error("its life has moved, and the host is still known")
	}
}

// L9: a human's drain outlives the host's absence; without it the host is forgotten.
func TestF14ADrainedHostIsKept(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.must(DrainHost{Host: h1, By: "ann"})
	d.must(DrainHost{Host: h2, By: DrainBySelf})
	d.jump(2 * week)
	if d.gone(h1) || !d.gone(h2) {
		t.Fatalf("drained by ann: %v; drained by its own agentd: %v", d.gone(h1), d.gone(h2))
	}
	d.must(DrainHost{Host: h1, Off: true, By: "ann"})
	d.jump(core.ForgetAgain)
	if !d.gone(h1) {
		t.Error("nobody drains it, and it is kept")
	}
}

// Who hears the host in any way has not lost it; and the setting counts from when it is set.
func TestF14WhatIsHeardIsKeptAndTheSettingCounts(t *testing.T) {
	d := newDrive(t)
	d.must(PutServer{ID: "a"})
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.must(ReportViews{Server: "a", Views: []noun.HostView{{Host: h1, Gossip: noun.HearAlive}}})
	d.must(PutSettings{Values: []noun.KV{{Key: "forget_hosts", Value: "0s"}}})
	d.jump(2 * week)
	if d.gone(h1) || d.gone(h2) {
		t.Fatal("forgotten although that is switched off")
	}
	d.must(PutSettings{Values: []noun.KV{{Key: "forget_hosts", Value: "3h"}}})
	d.jump(core.ForgetAgain)
	if d.gone(h1) || !d.gone(h2) {
		t.Fatalf("heard in gossip: %v; not heard: %v", d.gone(h1), d.gone(h2))
	}
	d.must(ReportViews{Server: "a", All: true})
	d.jump(core.ForgetAgain)
	if !d.gone(h1) {
		t.Error("nobody hears it, and it is kept")
	}
	h3 := d.host("h3", "worker")
	d.jump(time.Minute)
	d.must(ConfirmDead{Host: h3, Force: true, By: "ann"})
	d.jump(3 * time.Hour)
	if !d.gone(h3) {
		t.Error("confirmed dead and silent for long, and it is kept")
	}
}

// L12: whatever else happens, what is forgotten breaks no law, and a server that was restored
// on the way forgets the same.
func TestF14ForgettingBreaksNoLaw(t *testing.T) {
	forgotten := uint64(0)
	for _, seed := range seeds(t, 4) {
		c := newChaos(seed, true)
		plain, restored := New(), New()
		for _, e := range append(c.opening(),
			c.entry(Request{Cmd: PutSettings{Values: []noun.KV{{Key: "forget_hosts", Value: "10s"},
				{Key: "host_ttl", Value: "2s"}}}})) {
			plain.Apply(e)
			restored.Apply(e)
		}
		for n := range 1500 {
			e := c.next(plain)
			plain.Apply(e)
			restored.Apply(e)
			if err := plain.Check(); err != nil {
				t.Fatalf("seed %d, entry %d: %v", seed, e.Index, err)
			}
			if c.one(40) {
				restored = reload(t, restored)
			}
			if n%50 == 0 && plain.Hash() != restored.Hash() {
				t.Fatalf("seed %d: states differ at entry %d", seed, c.index)
			}
		}
		for e := range plain.Events(0) {
			if e.Kind == "host.forgotten" && strings.Contains(e.Text, "was silent for") {
				forgotten++
			}
		}
	}
	if forgotten == 0 && *seedFlag == 0 {
		t.Error("no host was forgotten: the log exercises nothing")
	}
}
