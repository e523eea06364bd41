package fsm

import (
	"bytes"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

func TestL6RestoredBackupHandsOutNewNumbers(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "builder", Replicas: 2})
	a := d.must(Join{Speaker: Speaker{Agent: "r/builder"}})
	b := d.must(Join{Speaker: Speaker{Agent: "r/builder.2"}})
	waits := d.must(CreateTask{Room: "r", Role: "builder", Title: "waits when the backup is made"}).Task
	d.must(OpenSession{})
	var backup bytes.Buffer
	if err := d.s.Copy().Dump(&backup); err != nil {
		t.Fatal(err)
	}
	load := func() *State {
		s, err := Load(bytes.NewReader(backup.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	d.must(Claim{Speaker: Speaker{Agent: "r/builder", Inc: a.Inc}})
	d.must(Leave{Speaker: Speaker{Agent: "r/builder", Inc: a.Inc}})
	claimed := d.must(Claim{Speaker: Speaker{Agent: "r/builder.2", Inc: b.Inc}})
	if claimed.Task != waits || claimed.Attempt != 2 {
		t.Fatalf("claimed %+v", claimed)
	}
	task := d.must(CreateTask{Room: "r", Role: "builder", Title: "created since"}).Task
	session := d.must(OpenSession{}).Session
	d.room("other", noun.RoleSpec{Name: "builder", Replicas: 1})
	host := d.host("host")
	mail := d.must(SendMail{From: "x", To: "other/builder", Body: "b"}).Mail

	x := newDrive(t)
	x.s = load()
	x.s.Outnumber(&d.s.View)
	x.must(RaiseEpoch{})
	if got := x.must(CreateTask{Room: "r", Role: "builder", Title: "t"}).Task; got <= task || got > task+10 {
		t.Errorf("L6: task %d after %d", got, task)
	}
	if got := x.must(OpenSession{}).Session; got <= session || got > session+10 {
		t.Errorf("L6: session %d after %d", got, session)
	}
	if got := x.host("another"); got <= host {
		t.Errorf("L6: host %d after %d", got, host)
	}
	if got := x.must(SendMail{From: "x", To: "r/builder.1", Body: "b"}).Mail; got <= mail || got > mail+10 {
		t.Errorf("L6: mail %d after %d", got, mail)
	}
	x.room("third", noun.RoleSpec{Name: "builder", Replicas: 1})
	if got, old := x.agent("third/builder").ID, d.agent("other/builder").ID; got <= old {
		t.Errorf("L6: agent %d after %d", got, old)
	}
	again := x.must(Claim{Speaker: Speaker{Agent: "r/builder.2", Inc: b.Inc}, Task: waits})
	if again.Attempt <= claimed.Attempt {
		t.Errorf("L6: attempt %d after %d", again.Attempt, claimed.Attempt)
	}
	if err := x.s.Check(); err != nil {
		t.Error(err)
	}

	// A new cluster knows nothing of what the lost one has handed out.
	fresh := newDrive(t)
	fresh.s = load()
	fresh.s.Outnumber(&New().View)
	if got := fresh.must(CreateTask{Room: "r", Role: "builder", Title: "t"}).Task; got < core.RestoreLeap {
		t.Errorf("L6: task %d in a new cluster", got)
	}
	if got := fresh.must(OpenSession{}).Session; got < core.RestoreLeap {
		t.Errorf("L6: session %d in a new cluster", got)
	}
	if got := fresh.must(SendMail{From: "x", To: "r/builder.1", Body: "b"}).Mail; got < core.RestoreLeap {
		t.Errorf("L6: mail %d in a new cluster", got)
	}
	if err := fresh.s.Check(); err != nil {
		t.Error(err)
	}
}

// A backup may know a life that has been given up since, while a newer one runs on
// another host. Until every life of the replaced state was superseded or has frozen
// by itself, no fence is confirmed, or the two would run at once.
func TestL7NoLifeIsConfirmedInTheHold(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	slow := managed("b")
	slow.TTL = 3 * time.Minute
	d.room("demo", slow, managed("c"))
	life := d.start("demo/b", h)
	d.must(Join{Speaker: life})
	a := d.agent("demo/b")
	d.must(OrderStart{Agent: d.agent("demo/c").ID, Inc: d.s.NextInc(d.agent("demo/c")), Host: h})
	open := d.agent("demo/c").Inc
	d.must(RaiseEpoch{Hold: time.Second})

	if w := d.s.Why(d.agent("demo/c").ID); w.Code != "hold" || w.Left != slow.TTL {
		t.Errorf("the hold is shorter than the longest TTL: %+v", w)
	}
	d.want(noun.Superseded, AcceptOrder{Host: h, Boot: "boot1", Agent: d.agent("demo/c").ID, Inc: open,
		TokenHash: []byte("token")})
	d.beat(0, BeatLease, a.ID) // its own word, before it freezes
	for range 3 {
		ans := d.beat(h, BeatFence|BeatVouch, a.ID)
		if len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictHeld || ans.Renewed != 0 {
			t.Fatalf("L7: a life was confirmed in the hold: %+v", ans)
		}
		d.pass(slow.TTL / 3)
	}
	d.pass(slow.TTL / 2) // the first beat after the hold may take a quarter
	if got := d.agent("demo/b"); got.Proc != noun.ProcRunning || got.Part == noun.PartDisconnected ||
		got.Inc != life.Inc {
		t.Fatalf("L10: the hold ended a life or its lease: %s, %s", got.Proc, got.Part)
	}
	if ans := d.beat(h, BeatFence|BeatVouch, a.ID); ans.Renewed != 1 {
		t.Fatalf("L10: a life is not confirmed after the hold: %+v", ans)
	}
	if err := d.s.Check(); err != nil {
		t.Error(err)
	}
}
