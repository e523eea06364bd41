package fsm

import (
	"testing"

	"vigil/fsm/noun"
)

// L6: the last life of a deleted agent is over, also when an agent of its name is declared
// again: nothing that it says or beats counts for the new one, which has not lived yet.
func TestF04LivesOfADeletedAgentAreNotThoseOfItsNamesake(t *testing.T) {
	for name, runner := range map[string]string{"by hand": "", "managed": "worker"} {
		t.Run(name, func(t *testing.T) {
			d := newDrive(t)
			h := d.host("h1", "worker")
			d.room("r", noun.RoleSpec{Name: "w"})
			old := Speaker{Agent: "r/w", Inc: d.must(Join{Speaker: Speaker{Agent: "r/w"}}).Inc}
			d.must(Leave{Speaker: old})
			d.must(DeleteRoom{Room: "r", By: "ann"})
			if d.s.Room("r") != nil {
				t.Fatal("the room is still there")
			}
			d.room("r", noun.RoleSpec{Name: "w", Runner: runner})
			task := d.must(CreateTask{Room: "r", Role: "w", Title: "t"}).Task
			for _, c := range []Command{Join{Speaker: old}, Claim{Speaker: old}, Claim{Speaker: old, Task: task},
				Leave{Speaker: old}, Declare{Speaker: old},
				CompleteTask{Work: Work{Speaker: old, Task: task, Attempt: 0}, Result: "result"},
				ReadMail{Speaker: old}, SendMail{Speaker: old, To: "r/w", Body: "b"},
				SetResume{Speaker: old, Resume: "x"}, StartTask{Work: Work{Speaker: old, Task: task, Attempt: 1}},
				FailTask{Work: Work{Speaker: old, Task: task, Attempt: 1}}} {
				d.want(noun.Superseded, c)
			}
			a := d.agent("r/w")
			for _, kinds := range []uint8{BeatLease, BeatVouch, BeatFence, BeatStranger | BeatLease} {
				for _, from := range []noun.HostID{0, h} {
					e := d.entry()
					e.Beats = []HostBeats{{Host: from, Boot: "boot1", Packed: PackBeats(nil, []noun.AgentID{a.ID},
						[]noun.Incarnation{old.Inc}, []uint8{kinds})}}
					if from == 0 {
						e.Beats[0].Boot = ""
					}
					if ans := d.apply(e).Beats[0]; len(ans.Exceptions) != 1 ||
						ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
						t.Errorf("beat %d from host %d: %+v", kinds, from, ans)
					}
				}
			}
			if w := d.s.WordOf(Declare{Speaker: old}, 0); w != (Word{}) {
				t.Errorf("its words prove %+v", w)
			}
			if a := d.agent("r/w"); a.Part != noun.PartDisconnected || a.Task != 0 ||
				d.s.Task(task).State != noun.TaskPending || d.s.Task(task).Rev == 0 {
				t.Errorf("agent %+v, task %+v", a, d.s.Task(task))
			}
			if runner != "" { // it is not taken for one that was started by hand
				if sp := d.start("r/w", h); sp.Inc <= old.Inc {
					t.Errorf("started as %s, an earlier agent had %s", sp.Inc, old.Inc)
				}
			}
		})
	}
}
