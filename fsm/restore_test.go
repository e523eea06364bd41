package fsm

import (
	"bytes"
	"testing"
)

func TestL6RestoredBackupHandsOutNewNumbers(t *testing.T) {
	d := newDrive(t)
	d.room("r", RoleSpec{Name: "builder", Replicas: 2})
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
	d.room("other", RoleSpec{Name: "builder", Replicas: 1})
	host := d.host("host")

	x := newDrive(t)
	x.s = load()
	x.s.Outnumber(d.s)
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
	x.room("third", RoleSpec{Name: "builder", Replicas: 1})
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
	fresh.s.Outnumber(New())
	if got := fresh.must(CreateTask{Room: "r", Role: "builder", Title: "t"}).Task; got < restoreLeap {
		t.Errorf("L6: task %d in a new cluster", got)
	}
	if got := fresh.must(OpenSession{}).Session; got < restoreLeap {
		t.Errorf("L6: session %d in a new cluster", got)
	}
	if err := fresh.s.Check(); err != nil {
		t.Error(err)
	}
}
