package fsm

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

// A host renews and vouches for what lives on it, for nothing else; whoever beats
// without a host renews no fence.
func TestL6HostsBeatForTheirOwnLivesOnly(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("b"))
	d.start("demo/b", h1)
	d.clock = d.clock.Add(10 * time.Second)
	was := *d.s.Lease(1)
	for _, kinds := range []uint8{BeatFence, BeatVouch, BeatFence | BeatVouch, BeatLease} {
		for _, from := range []noun.HostID{h2, 0} {
			if from == 0 && kinds == BeatLease {
				continue // its own word
			}
			ans := d.beat(from, kinds, 1)
			if ans.Renewed != 0 || len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
				t.Errorf("kinds %d from host %d were answered %+v", kinds, from, ans)
			}
		}
	}
	if l := *d.s.Lease(1); l.Until != was.Until || l.Fence != was.Fence {
		t.Errorf("%+v became %+v", was, l)
	}
	if ans := d.beat(h1, BeatFence, 1); ans.Renewed != 1 || d.s.Lease(1).Fence == was.Fence {
		t.Errorf("its own host was answered %+v", ans)
	}
}
