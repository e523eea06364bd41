package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// kindsOf gives rows by the names of their kinds.
func kindsOf(rows []due.Row) map[string]due.Row {
	m := map[string]due.Row{}
	for _, r := range rows {
		m[r.Kind.Name] = r
	}
	return m
}

// What is due of an agent is shown, the earliest first, with what holds its clock.
func TestDeadlinesOfAnAgentAtWork(t *testing.T) {
	d := newDrive(t)
	d.room("web", noun.RoleSpec{Name: "builder", TTL: time.Hour, ProgressLimit: 10 * time.Minute})
	sp := Speaker{Agent: "web/builder", Inc: d.must(Join{Speaker: Speaker{Agent: "web/builder"}}).Inc}
	task := d.must(CreateTask{Room: "web", Role: "builder", Title: "t", Expect: 40 * time.Minute}).Task
	w := Work{Speaker: sp, Task: task, Attempt: d.must(Claim{Speaker: sp}).Attempt}
	d.must(StartTask{Work: w})
	d.must(Declare{Speaker: sp, Status: noun.StatusBusy, For: 5 * time.Minute})
	a := d.agent("web/builder")
	rows, more := d.s.AgentDeadlines(a.ID)
	if more != 0 {
		t.Errorf("%d more", more)
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].At() < rows[i-1].At() {
			t.Errorf("%s is listed behind %s and due before it", rows[i].Kind.Name, rows[i-1].Kind.Name)
		}
	}
	now, m := d.s.Clock(), kindsOf(rows)
	for kind, in := range map[string]time.Duration{"lease": time.Hour, "progress limit": 15 * time.Minute,
		"expected completion": 40 * time.Minute, "progress awaited": 40 * time.Minute} {
		r, ok := m[kind]
		if !ok || r.At().Sub(now) != in {
			t.Errorf("%s is due in %s, want %s: %+v", kind, r.At().Sub(now), in, r)
		}
	}
	r := m["progress limit"]
	if h := r.Held(now); h.Until.Sub(now) != 5*time.Minute || h.Why == "" {
		t.Errorf("the progress limit is held by %+v", h)
	}
	if got := d.s.NameOf(m["lease"].Of); got != "agent web/builder" {
		t.Errorf("a lease is of %q", got)
	}
	if rows, _ := d.s.RoomDeadlines(a.Room); kindsOf(rows)["silence"].Kind == nil {
		t.Errorf("a room with open tasks has no silence: %+v", rows)
	}
	if rows, _ := d.s.AgentDeadlines(999); rows != nil {
		t.Errorf("nobody has %+v", rows)
	}
}

// A room with many agents and tasks lists the earliest rows, and says how many more there are.
func TestDeadlinesOfALargeRoomAreBounded(t *testing.T) {
	d := newDrive(t)
	d.room("web", noun.RoleSpec{Name: "builder", Replicas: 300})
	for range 300 {
		d.clock += noun.Time(time.Millisecond)
		d.s.Apply(d.entry(Request{Cmd: Join{Speaker: Speaker{Agent: "web/builder.*"}}}))
	}
	rows, more := d.s.RoomDeadlines(d.s.Room("web").ID)
	if len(rows) != core.MaxDeadlines || more != 300-core.MaxDeadlines {
		t.Fatalf("%d rows, %d more", len(rows), more)
	}
	last := rows[len(rows)-1].At()
	later := 0
	for a := range d.s.Agents("web") {
		if l := d.s.Lease(a.ID); l.Until > last {
			later++
		}
	}
	if later != more {
		t.Errorf("%d leases end later than the last one that is listed, %d are said to", later, more)
	}
}

// L3: a deadline that nobody looks at is named, and what to do about it.
func TestL3DeadlineWithoutATimerIsNamed(t *testing.T) {
	d := newDrive(t)
	row := due.Row{Kind: &due.Kind{Name: "tea"}, Of: due.OfTask(7), From: 1, Span: time.Minute}
	for armed, want := range map[noun.Time]string{
		0:                        `L3: task 7: "tea" is due at 1m0.000000001s of cluster time, and no timer is set`,
		noun.Time(2 * time.Hour): `its timer is set for 2h0m0s`,
		row.At():                 "",
	} {
		var c core.Checker
		if c.Armed(&d.s.State.View, "L3", row, armed); (len(c.Errs) == 0) != (want == "") ||
			want != "" && !strings.Contains(c.Errs[0].Error(), want) {
			t.Errorf("armed at %d: %v, want %q", armed, c.Errs, want)
		}
	}
}
