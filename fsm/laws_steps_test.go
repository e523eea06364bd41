package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"vigil/fsm/noun"
)

// perStep is how many values one step of clearing visits at most, indexes included.
const perStep = 100

// counted counts the agents, tasks, roles and rooms that fn makes the state visit.
func counted(s *State, fn func()) (visits int) {
	for _, count := range []func(*int){s.AgentTable.CountVisits, s.TaskTable.CountVisits, s.RoleTable.CountVisits,
		s.RoomTable.CountVisits, s.LeaseTable.CountVisits} {
		count(&visits)
		defer count(nil)
	}
	fn()
	return visits
}

// F11: what an entry visits that deletes a room, and one that its last agent leaves, does not
// depend on how many tasks and rooms there are beside it.
func TestF11DeletingARoomVisitsNoOther(t *testing.T) {
	measure := func(rooms, tasks int) (deleted, purged int) {
		d := newDrive(t)
		h := d.host("h1", "worker")
		for i := range rooms {
			d.s.Apply(d.entry(Request{Cmd: ApplyRoom{Room: fmt.Sprintf("other%d", i),
				Roles: []noun.RoleSpec{replicas(2)}}}))
		}
		for i := range tasks {
			out := d.s.Apply(d.entry(Request{Cmd: CreateTask{Room: fmt.Sprintf("other%d", i%rooms),
				Role: "b", Title: "t"}})).Outcomes[0]
			if i%2 == 0 {
				d.s.Apply(d.entry(Request{Cmd: CancelTask{Task: out.Task}}))
			}
		}
		for _, name := range []string{"empty", "busy"} {
			d.room(name, managed("b"))
			for range 3 {
				d.must(CreateTask{Room: name, Role: "b", Title: "t"})
			}
		}
		sp := d.start("busy/b", h)
		d.must(Join{Speaker: sp})
		d.must(Claim{Speaker: sp})
		deleted = counted(d.s, func() { d.s.Apply(d.entry(Request{Cmd: DeleteRoom{Room: "empty"}})) })
		if d.s.Room("empty") != nil {
			t.Fatal("a room of which nothing runs is not gone at once")
		}
		d.must(DeleteRoom{Room: "busy"})
		a := d.agent("busy/b")
		purged = counted(d.s, func() { d.s.Apply(d.entry(Request{Cmd: ReportExit{Host: h, Agent: a.ID, Inc: a.Inc}})) })
		if d.s.Room("busy") != nil {
			t.Fatal("the room is not gone with its last agent")
		}
		if err := d.s.Check(); err != nil {
			t.Fatal(err)
		}
		return deleted, purged
	}
	few, fewPurged := measure(2, 10)
	many, manyPurged := measure(200, 4000)
	if few != many || fewPurged != manyPurged || few == 0 {
		t.Fatalf("deleting visits %d and %d values among few, %d and %d among many", few, fewPurged, many, manyPurged)
	}
}

// F11: a room with many tasks and agents is cleared in bounded steps by later entries, the same
// ones on a server that was restored in between; whoever works there is stopped, and keeps nothing.
func TestF11GreatRoomsGoInSteps(t *testing.T) {
	const agents, tasks = 3 * noun.StepsPerEntry, 5 * noun.StepsPerEntry
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("other", managed("b"))
	keep := d.must(CreateTask{Room: "other", Role: "b", Title: "t"}).Task
	d.room("demo", noun.RoleSpec{Name: "a", Runner: "worker", Replicas: agents}, managed("b"))
	for i := range tasks {
		out := d.s.Apply(d.entry(Request{Cmd: CreateTask{Room: "demo", Role: "a", Title: "t"}})).Outcomes[0]
		if i%3 == 0 {
			d.s.Apply(d.entry(Request{Cmd: CancelTask{Task: out.Task}}))
		}
	}
	first, last := d.start("demo/a", h), d.start("demo/a.700", h)
	for _, sp := range []Speaker{first, last} {
		d.must(Join{Speaker: sp})
		d.must(Claim{Speaker: sp})
	}
	third := d.start("demo/b", h)
	d.must(Join{Speaker: third})
	entries, ended := 0, false
	e := d.entry(Request{Cmd: DeleteRoom{Room: "demo", By: "ann"}})
	for more := true; more; entries++ {
		var res noun.Result
		if n := counted(d.s, func() { res = d.s.Apply(e) }); n > perStep*noun.StepsPerEntry {
			t.Fatalf("entry %d visits %d values", entries, n)
		}
		more = res.Effects.More
		if _, due := d.s.NextTimer(); more && !due {
			t.Fatal("nothing tells a new leader that there is work left")
		}
		if entries == 0 {
			d.want(noun.Stopped, ApplyRoom{Room: "demo"})
			if out := d.do(Claim{Speaker: third}); out.Code == noun.OK {
				t.Fatalf("claimed a task of a deleted room: %+v", out)
			}
		}
		if err := d.s.Check(); err != nil {
			t.Fatal(err)
		}
		if entries%3 == 0 {
			var buf bytes.Buffer
			if err := d.s.Copy().Dump(&buf); err != nil {
				t.Fatal(err)
			}
			loaded, err := Load(&buf)
			if err != nil {
				t.Fatal(err)
			}
			d.s = loaded
		}
		if e = d.entry(); !more && !ended { // all that does not run is gone; then the lives end
			ended, more = true, true
			if n := d.s.Counts().Agents; n != 4 {
				t.Fatalf("%d agents are left, want the three that run and the one of the other room", n)
			}
			var exits []Request
			for _, sp := range []Speaker{first, last, third} {
				a := d.agent(sp.Agent)
				if a.Order != noun.StopOrder || a.Task != 0 {
					t.Fatalf("%s has order %v and task %d", a.Name, a.Order, a.Task)
				}
				exits = append(exits, Request{Cmd: ReportExit{Host: h, Agent: a.ID, Inc: a.Inc}})
			}
			e = d.entry(exits...)
		}
	}
	if least := (agents + tasks + tasks*2/3) / noun.StepsPerEntry; entries+2 < least || d.s.Room("demo") != nil ||
		d.s.Task(keep) == nil || d.s.TaskTable.Len() != 1 {
		t.Fatalf("after %d entries: room %+v, %d tasks", entries, d.s.Room("demo"), d.s.TaskTable.Len())
	}
}

// F11: a role that is no longer declared goes in steps too, and may be declared again meanwhile.
func TestF11GreatRolesGoInSteps(t *testing.T) {
	const agents = 4 * noun.StepsPerEntry
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "a", Runner: "worker", Replicas: agents}, managed("b"))
	n := counted(d.s, func() { d.room("demo", managed("b")) })
	if n > perStep*noun.StepsPerEntry || d.s.Counts().Agents == 1 {
		t.Fatalf("one entry visits %d values; %d agents are left", n, d.s.Counts().Agents)
	}
	d.apply(d.entry())
	d.room("demo", noun.RoleSpec{Name: "a", Runner: "worker", Replicas: agents}, managed("b"))
	d.whole()
	if c := d.s.Counts(); c.Agents != agents+1 || wantedOf(d.s) != agents+1 {
		t.Fatalf("declared again: %d agents, %d wanted", c.Agents, wantedOf(d.s))
	}
	d.room("demo", managed("b"))
	for entries := 0; d.apply(d.entry()).Effects.More; entries++ {
		if entries > 10 {
			t.Fatal("it never ends")
		}
	}
	if c := d.s.Counts(); c.Agents != 1 {
		t.Fatalf("%d agents are left", c.Agents)
	}
}

// F11: a task more or less for an on-demand role visits none of its agents.
func TestF11DemandVisitsNoAgents(t *testing.T) {
	flip := func(replicas uint32) (flips [2]int) {
		d := newDrive(t)
		d.whole(Request{Cmd: ApplyRoom{Room: "demo",
			Roles: []noun.RoleSpec{{Name: "a", Runner: "worker", Start: noun.StartOnDemand, Replicas: replicas}}}})
		var task noun.TaskID
		flips[0] = counted(d.s, func() {
			task = d.s.Apply(d.entry(Request{Cmd: CreateTask{Room: "demo", Role: "a", Title: "t"}})).Outcomes[0].Task
		})
		if wantedOf(d.s) != int(replicas) || d.s.DueStarts(1) != 1 {
			t.Fatalf("%d of %d agents are wanted, %d starts", wantedOf(d.s), replicas, d.s.DueStarts(1))
		}
		flips[1] = counted(d.s, func() { d.s.Apply(d.entry(Request{Cmd: CancelTask{Task: task}})) })
		if wantedOf(d.s) != 0 {
			t.Fatalf("%d agents are wanted without a task", wantedOf(d.s))
		}
		return flips
	}
	if few, many := flip(3), flip(5000); few != many || few[0] == 0 {
		t.Fatalf("a flip visits %d values with 3 agents, %d with 5000", few, many)
	}
}

// F11: a pause of everything and the end of one visit roles, not agents.
func TestF11PausesVisitNoAgents(t *testing.T) {
	pause := func(replicas uint32) int {
		d := newDrive(t)
		d.whole(Request{Cmd: ApplyRoom{Room: "demo",
			Roles: []noun.RoleSpec{{Name: "a", Runner: "worker", Replicas: replicas}}}})
		return counted(d.s, func() {
			for _, on := range []bool{true, false} {
				for _, scope := range []string{"", "demo"} {
					d.s.Apply(d.entry(Request{Cmd: SetPause{Scope: scope, Pause: on}}))
				}
			}
		})
	}
	if few, many := pause(3), pause(5000); few != many {
		t.Fatalf("pauses visit %d values with 3 agents, %d with 5000", few, many)
	}
}
