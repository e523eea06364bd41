package fsm

import (
	"testing"
	"time"

	"vigil/fsm/core"
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

// L10: a life is proved as it began. Its supervisor was told then whether it beats for it, and does not hear of a role
// that is declared in another way: with its next claim a life lost its lease, and its task, after one TTL.
func TestL10ALifeIsProvedAsItBegan(t *testing.T) {
	for _, tc := range []struct {
		began, declared noun.Proof
		from, to        uint32 // levels, before and after the start
		active          bool
	}{
		{noun.ProofProcess, noun.ProofAgent, core.LevelRetry, core.LevelRetry, true},
		{noun.ProofProcess, noun.ProofAgent, Baseline, core.LevelRetry, true},
		{noun.ProofProcess, noun.ProofAgent, Baseline, Baseline, false},
		{noun.ProofAgent, noun.ProofProcess, core.LevelRetry, core.LevelRetry, false},
		{noun.ProofAgent, noun.ProofProcess, Baseline, core.LevelRetry, false},
		{noun.ProofAgent, noun.ProofAgent, Baseline, core.LevelRetry, false},
	} {
		d := newDrive(t)
		raise := func(level uint32) {
			if level > d.s.Level() {
				d.must(RaiseLevel{Level: level})
			}
		}
		declare := func(p noun.Proof) { d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Proof = p })) }
		raise(tc.from)
		h := d.host("h1", "worker")
		declare(tc.began)
		me := d.start("demo/b", h)
		raise(tc.to)
		d.must(Join{Speaker: me})
		declare(tc.declared)
		task := d.must(CreateTask{Room: "demo", Role: "b"}).Task
		d.must(Claim{Speaker: me})
		d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
		for range 20 {
			d.jump(15 * time.Second)
			d.beat(h, BeatFence|BeatVouch, d.agent("demo/b").ID)
		}
		if is := d.agent("demo/b").Part == noun.PartActive; is != tc.active {
			t.Errorf("%+v: after 5 minutes in which its supervisor vouched for it, it is active: %v", tc, is)
		}
		if got := reload(t, d.s); got.Hash() != d.s.Hash() {
			t.Errorf("%+v: L12: a loaded state differs", tc)
		}
	}
}
