package fsm

import (
	"testing"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// N23: a life that was started as its role was declared before is outdated until its agent is
// started again; what a life does not get changes nothing.
func TestN23OutdatedLives(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	h := d.host("h1", "worker")
	d.room("web", managed("b", func(r *noun.RoleSpec) { r.Replicas = 2 }))
	d.start("web/b", h)
	outdated := func(want ...bool) {
		t.Helper()
		n := uint32(0)
		for i, w := range want {
			if got := d.s.Outdated(d.s.Agent(noun.AgentID(i + 1))); got != w {
				t.Errorf("agent %d is outdated: %t, want %t", i+1, got, w)
			}
			if w {
				n++
			}
		}
		if got := d.s.OutdatedOf(d.s.RoleByName("web", "b")); got != n {
			t.Errorf("%d are outdated, want %d", got, n)
		}
	}
	outdated(false, false)
	d.room("web", managed("b", func(r *noun.RoleSpec) { r.Replicas, r.KillLimit = 2, 9 }))
	outdated(false, false)
	changed := managed("b", func(r *noun.RoleSpec) {
		r.Replicas, r.Params = 2, []noun.KV{{Key: "model", Value: "new"}}
	})
	d.room("web", changed)
	outdated(true, false)
	d.s = reload(t, d.s)
	outdated(true, false)
	d.start("web/b.2", h) // of now
	outdated(true, false)
	d.must(RestartAgent{Agent: "web/b", By: "ann"})
	outdated(true, false) // until it has ended
	d.must(ReportExit{Host: h, Agent: 1, Inc: 1, Signal: "terminated"})
	outdated(false, false)
	d.start("web/b", h)
	outdated(false, false)
	d.room("web", changed)
	outdated(false, false)
}
