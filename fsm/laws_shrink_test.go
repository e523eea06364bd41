package fsm

import (
	"strings"
	"testing"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// many applies commands, a thousand an entry, without checking laws, until one is refused or none is left; it gives how
// many were done.
func (d *drive) many(n int, command func(i int) Command) (done int) {
	d.t.Helper()
	for done < n {
		var reqs []Request
		for i := range min(1000, n-done) {
			reqs = append(reqs, Request{Cmd: command(done + i)})
		}
		for _, out := range d.s.Apply(d.entry(reqs...)).Outcomes {
			if out.Code == noun.Full {
				return done
			}
			if done++; out.Code != noun.OK {
				d.t.Fatalf("%T: %+v", reqs[0].Cmd, out)
			}
		}
	}
	return done
}

// batchEnded is a budget that is used up by tasks that have all ended, of which more has to go before new ones fit than
// one command may remove. It gives how many there were.
func batchEnded(t *testing.T, level uint32) (*drive, int) {
	d := newDrive(t)
	if level > Baseline {
		d.must(RaiseLevel{Level: level})
	}
	d.room("r", noun.RoleSpec{Name: "a"})
	d.set("budget_tasks", "24MiB", "budget_room_share", "100", "max_open_tasks", "1000000", "events_kept", "1000")
	n := d.many(1_000_000, func(int) Command { return bare })
	d.many(n, func(i int) Command {
		return CancelTask{Task: noun.TaskID(i + 1), By: "ann", Reason: strings.Repeat("x", 80)}
	})
	return d, n
}

var bare = CreateTask{Room: "r", Role: "a", Title: "t"}

// L11: when a batch that has filled the budget has ended, new tasks are taken: each removes as many of the old ones as
// one command may, until there is space. All were refused until the old ones had gone by their age, after a week.
func TestL11ABatchThatHasEndedMakesSpace(t *testing.T) {
	d, _ := batchEnded(t, Baseline)
	d.want(noun.Full, bare)
	d, _ = batchEnded(t, core.LevelRetry)
	if u := d.use("tasks"); u.Used < u.Budget-1000 {
		t.Fatalf("the budget is not used up: %+v", u)
	}
	for n := 0; ; n++ {
		was := d.use("tasks")
		if was.Used <= was.Limit {
			break
		}
		d.must(bare)
		if u := d.use("tasks"); u.Used >= was.Used || n == 10 {
			t.Fatalf("after task %d %d bytes are used, before %d", n+1, u.Used, was.Used)
		}
	}
}

// L11: so they are after the budget was lowered, however far. An entry with many of them removes not more than a few
// such commands do.
func TestL11ALoweredBudgetTakesTasks(t *testing.T) {
	d, n := batchEnded(t, core.LevelRetry)
	d.set("budget_tasks", "2MiB")
	const most = 4*core.ReliefSteps + 1000
	for entries := 0; d.use("tasks").Used > d.use("tasks").Limit; entries++ {
		was := d.s.TaskTable.Len()
		if done := d.many(100, func(int) Command { return bare }); done != 100 {
			t.Fatalf("entry %d: %d of 100 tasks are taken", entries, done)
		}
		if gone := was + 100 - d.s.TaskTable.Len(); gone > most || entries > n/core.ReliefSteps {
			t.Fatalf("entry %d removes %d tasks of %d", entries, gone, was)
		}
	}
	d.apply(d.entry())
}

// L11: so is mail.
func TestL11ALoweredBudgetTakesMail(t *testing.T) {
	for _, level := range []uint32{Baseline, core.LevelRetry} {
		d := closedMail(t, level, 2*core.ReliefSteps)
		d.set("budget_mail", "64KiB", "budget_room_share", "100")
		if level == Baseline {
			d.want(noun.Full, letter("r/w", noun.MailLow))
			continue
		}
		for n := 0; d.use("mail").Used > d.use("mail").Limit; n++ {
			if d.must(letter("r/w", noun.MailLow)); n == 10 {
				t.Fatalf("after %d mails %+v", n, d.use("mail"))
			}
		}
	}
}
