package check

import (
	"fmt"
	"time"

	"vigil/jepsen/history"
)

// outageBook is a record of workload outage under construction.
type outageBook struct {
	*book
	at int64
}

// newOutage begins a record with its rules and so many tasks of one role.
func newOutage(tasks uint64) *outageBook {
	o := &outageBook{book: newBook()}
	o.op("outage", "rules", 0, 0, history.Op{Key: "outage", Rules: &history.Rules{Attempts: 2, Kills: 2,
		First: int64(time.Second), Most: int64(3 * time.Second)}})
	o.book.life("outage/fetch", 1, "h1", 0, 50_000)
	for n := range tasks {
		o.says("task.created", n+1, 0, "fetch")
	}
	return o
}

// says adds an event; it happened when it was heard.
func (o *outageBook) says(kind string, task uint64, attempt uint32, text string) *outageBook {
	o.at++
	o.event(1, o.at, history.Event{Kind: kind, Room: "outage", Task: task, Attempt: attempt, Text: text})
	index := o.rec.Events[len(o.rec.Events)-1].Index
	o.op("outage", "index", o.at, o.at, history.Op{Index: index})
	return o
}

// after lets time pass.
func (o *outageBook) after(ms int64) *outageBook { o.at += ms; return o }

func (o *outageBook) claim(task uint64, attempt uint32) *outageBook {
	return o.says("task.claimed", task, attempt, "")
}

// back gives an attempt back: word is what the agent was acknowledged, "" for nothing.
func (o *outageBook) back(task uint64, attempt uint32, word string) *outageBook {
	o.says("task.recovered", task, attempt, gaveBack)
	if word != "" {
		o.word(o.at, word, task, attempt)
	}
	return o
}

// fails has probes of a task given back so many times, and one more begin.
func (o *outageBook) fails(task uint64, attempts uint32) *outageBook {
	for n := range attempts {
		o.after(31_000).claim(task, n+1).back(task, n+1, "")
	}
	return o.after(31_000).claim(task, attempts+1)
}

// leaves has so many holders of the task leave.
func (o *outageBook) leaves(task uint64, attempts uint32) *outageBook {
	for n := range attempts {
		o.claim(task, n+1).says("task.recovered", task, n+1, "its holder left")
	}
	return o
}

func (o *outageBook) half() *outageBook {
	return o.says("role.half_open", 0, 0, "fetch: 5 of 6 failed")
}

// probed has one probe after the other succeed, so that so many are allowed at once.
func (o *outageBook) probed(successes int) *outageBook {
	o.half()
	for n := range successes {
		o.after(600).claim(uint64(n)+1, 1).says("task.completed", uint64(n)+1, 1, "")
	}
	return o
}

// claims claims tasks from one to another at once.
func (o *outageBook) claims(from, to uint64) *outageBook {
	for task := from; task <= to; task++ {
		o.claim(task, 1)
	}
	return o
}

// end lists a task at the end.
func (o *outageBook) end(task uint64, state string) *outageBook {
	o.op("outage", "final", 100_000, 100_010, history.Op{Task: task, Key: "fetch", Value: fmt.Sprint("t", task),
		State: state})
	return o
}

const diedOfIt = "2 incarnations died or had to be ended while they held it"

func retryCases() []trialCase {
	c := func(name string, o *outageBook, verdict, what string) trialCase {
		return trialCase{"retries", name, o.book, verdict, what}
	}
	crash := func(o *outageBook, task uint64, attempt uint32) *outageBook {
		return o.says("task.recovered", task, attempt, ended+"exited with code 3")
	}
	fail := func(o *outageBook, attempt uint32) *outageBook {
		return o.says("task.failed", 1, attempt, "attempt limit of 2 reached: "+gaveBack)
	}
	atOnce := func(older string, upgraded int64) *outageBook {
		o := fail(newOutage(1).claim(1, 1).back(1, 1, "fail").after(10).claim(1, 2), 2).end(1, failed)
		o.rec.Run.Older, o.rec.Run.Upgraded = older, upgraded
		return o
	}
	return []trialCase{
		c("failed when its attempts were used up",
			fail(newOutage(1).claim(1, 1).back(1, 1, "fail").after(600).claim(1, 2), 2).end(1, failed), Kept, ""),
		c("tried again at once", atOnce("", 0), Broken, "has a wait of"),
		c("tried again at once by an older server", atOnce("0.1", 0), Kept, "older build"),
		c("tried again at once after the upgrade", atOnce("0.1", 1), Broken, "has a wait of"),
		c("failed too early", fail(newOutage(1).claim(1, 1), 1).end(1, failed), Broken, "at most 1 have failed"),
		c("charged while its role was half-open",
			fail(newOutage(1).half().after(600).claim(1, 1).back(1, 1, "fail").after(1100).claim(1, 2), 2),
			Broken, "at most 0 have failed"),
		c("charged since it had failed twenty times as often as its limits",
			fail(newOutage(1).half().fails(1, 40), 41).end(1, failed), Kept, "did not get its answer"),
		c("charged one failure before that",
			fail(newOutage(1).half().fails(1, 39), 40).end(1, failed), Broken, "at most 1 have failed"),
		c("the attempt that half-opened the role was charged",
			fail(newOutage(1).claim(1, 1).back(1, 1, "fail").after(600).claim(1, 2).half(), 2), Broken,
			"at most 1 have failed"),
		c("charged since its holder left", fail(newOutage(1).claim(1, 1).says("task.recovered", 1, 1,
			"its holder left").claim(1, 2), 2), Broken, "at most 1 have failed"),
		c("charged since its holder was ended, and left", newOutage(1).claim(1, 1).says("task.recovered", 1, 1,
			"its holder left, as it was ended: turn limit of 5s").claim(1, 2).says("task.failed", 1, 2,
			"attempt limit of 2 reached: its holder left, as it was ended: turn limit of 5s").end(1, failed), Kept, ""),
		c("four holders left, one after the other", newOutage(1).leaves(1, 3).claim(1, 4).
			says("task.quarantined", 1, 4, diedOfIt+", or left").end(1, quarantined), Kept, ""),
		c("quarantined after three have left", newOutage(1).leaves(1, 2).claim(1, 3).
			says("task.quarantined", 1, 3, "its holder left"), Broken, "at most 0 have failed"),
		c("two lives died of it", crash(newOutage(1).claim(1, 1), 1, 1).claim(1, 2).
			says("task.quarantined", 1, 2, diedOfIt).end(1, quarantined), Kept, ""),
		c("quarantined for deaths in an outage", crash(newOutage(1).half().after(600).claim(1, 1), 1, 1).
			after(1100).claim(1, 2).says("task.quarantined", 1, 2, diedOfIt), Broken, "0 lives died of it"),
		c("tried again at once", newOutage(1).claim(1, 1).back(1, 1, "fail").after(400).claim(1, 2), Broken,
			"a wait of 500ms"),
		c("the wait has doubled", newOutage(1).claim(1, 1).back(1, 1, "fail").after(600).claim(1, 2).
			back(1, 2, "fail").after(900).claim(1, 3), Broken, "a wait of 1s"),
		c("the wait grows no more", newOutage(1).claim(1, 1).back(1, 1, "fail").after(600).claim(1, 2).
			back(1, 2, "fail").after(1100).claim(1, 3).back(1, 3, "fail").after(1600).claim(1, 4).back(1, 4, "fail").
			after(1600).claim(1, 5), Kept, ""),
		c("tried before its agent said", newOutage(1).claim(1, 1).back(1, 1, "fail=2s").after(1500).claim(1, 2),
			Broken, "a wait of 2s"),
		c("tried when its agent said", newOutage(1).claim(1, 1).back(1, 1, "fail=100ms").after(110).claim(1, 2),
			Kept, ""),
		c("what its agent said is not known", newOutage(1).claim(1, 1).back(1, 1, "").after(10).claim(1, 2),
			Kept, "did not get its answer"),
		c("a crash is no reason to wait", crash(newOutage(1).claim(1, 1), 1, 1).claim(1, 2), Kept, ""),
		c("a crash of a probe is", crash(newOutage(3).probed(1).claim(2, 1), 2, 1).claim(2, 2), Broken,
			"a wait of 500ms"),
		c("one probe", newOutage(2).half().after(600).claim(1, 1), Kept, ""),
		c("two probes at first", newOutage(2).half().after(600).claims(1, 2), Broken, "may try 1 tasks at once"),
		c("one and two and four and eight", newOutage(11).probed(3).claims(4, 11), Kept, ""),
		c("nine", newOutage(12).probed(3).claims(4, 12), Broken, "may try 8 tasks at once"),
		c("as many as were offered before one failed",
			newOutage(9).probed(2).claims(3, 4).back(3, 1, "fail").claims(5, 6), Kept, ""),
		c("more than were offered before one failed",
			newOutage(9).probed(2).claims(3, 4).back(3, 1, "fail").claims(5, 7), Broken, "may try 3 tasks at once"),
		c("a probe follows at once", newOutage(2).half().after(600).claim(1, 1).back(1, 1, "fail").after(900).
			claim(2, 1), Broken, "a pause of 1s"),
		c("the first probe does", newOutage(1).half().after(400).claim(1, 1), Broken, "a pause of 500ms"),
		c("a probe that goes on for long has succeeded",
			newOutage(9).half().after(600).claim(1, 1).after(61_000).claims(2, 3), Kept, ""),
		c("what was under way is no probe", newOutage(3).claim(1, 1).half().after(600).claims(2, 2).back(1, 1, "fail").
			after(600).claim(1, 2), Broken, "may try 1 tasks at once"),
		c("open again", newOutage(9).half().says("role.open", 0, 0, "fetch: its tasks succeed").claims(1, 9), Kept, ""),
		c("nobody canceled it", newOutage(1).says("task.canceled", 1, 0, "by x").end(1, canceled), Broken,
			"no human has canceled"),
		c("a human did", func() *outageBook {
			o := newOutage(1).says("task.canceled", 1, 0, "by x").end(1, canceled)
			o.op("outage", "cancel", 0, 5, history.Op{Task: 1, Outcome: history.Unknown})
			return o
		}(), Kept, ""),
		c("the log says something else", newOutage(1).claim(1, 1).says("task.completed", 1, 1, "").end(1, failed),
			Broken, "by the log it is COMPLETED"),
		c("the log has a gap", func() *outageBook {
			o := newOutage(1).claim(1, 1)
			o.event(1, o.at+1, history.Event{Seq: 50, Kind: "task.failed", Room: "outage", Task: 1, Attempt: 1})
			return o.end(1, failed)
		}(), Kept, "does not have all"),
	}
}
