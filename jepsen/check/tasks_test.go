package check

import (
	"vigil/jepsen/history"
)

func registerCases() []trialCase {
	type op = history.Op
	begun := func() *book { return newBook().op("register", "write", 0, 10, op{Key: "k", Value: "a"}) }
	older := func(b *book) *book { b.rec.Run.Older = "v1"; return b }
	twice := func() *book {
		return begun().op("register", "write", 20, 90, op{Key: "k", Value: "b"}).op("register", "write",
			100, 110, op{Key: "k", Value: "c"}).
			op("register", "read", 120, 130, op{Key: "k", Value: "c", Rev: 5}).op("register", "read", 140,
			150, op{Key: "k", Value: "b", Rev: 7})
	}
	return []trialCase{
		{"registers", "a write is read", begun().op("register", "read", 20, 30, op{Key: "k", Value: "a", Rev: 3}),
			Kept, ""},
		{"registers", "an old value is read", begun().op("register", "write", 20, 30, op{Key: "k", Value: "b"}).
			op("register", "read", 40, 50, op{Key: "k", Value: "a", Rev: 3}), Broken, "no order explains"},
		{"registers", "an old value is read while the write goes on",
			begun().op("register", "write", 20, 60, op{Key: "k", Value: "b"}).
				op("register", "read", 30, 50, op{Key: "k", Value: "a", Rev: 3}), Kept, ""},
		{"registers", "a write without an answer is read much later",
			begun().op("register", "write", 20, 30, op{Key: "k", Value: "b", Outcome: history.Unknown}).
				op("register", "read", 40, 50, op{Key: "k", Value: "a", Rev: 3}).op("register", "read", 60,
				70, op{Key: "k", Value: "b", Rev: 4}), Kept, ""},
		{"registers", "a write without an answer comes and goes",
			begun().op("register", "write", 20, 30, op{Key: "k", Value: "b", Outcome: history.Unknown}).
				op("register", "read", 40, 50, op{Key: "k", Value: "b", Rev: 3}).op("register", "read", 60,
				70, op{Key: "k", Value: "a", Rev: 4}), Broken, "no order explains"},
		{"registers", "a write that failed is read",
			begun().op("register", "write", 20, 30, op{Key: "k", Value: "b", Outcome: history.Failed}).
				op("register", "read", 40, 50, op{Key: "k", Value: "b", Rev: 3}), Broken, "no order explains"},
		{"registers", "two conditional writes of the same value succeed",
			begun().op("register", "cas", 20, 30, op{Key: "k", Old: "a", Value: "b"}).
				op("register", "cas", 40, 50, op{Key: "k", Old: "a", Value: "c"}), Broken, "no order explains"},
		{"registers", "a conditional write is refused for nothing",
			begun().op("register", "cas", 20, 30, op{Key: "k", Old: "a", Value: "b",
				Outcome: history.Failed, Error: "conflict"}), Broken, "no order explains"},
		{"registers", "a conditional write is refused for a write without an answer",
			begun().op("register", "write", 12, 15, op{Key: "k", Value: "x", Outcome: history.Unknown}).
				op("register", "cas", 20, 30, op{Key: "k", Old: "a", Value: "b", Outcome: history.Failed,
					Error: "conflict"}), Kept, ""},
		{"registers", "the revision goes back",
			begun().op("register", "read", 20, 30, op{Key: "k", Value: "a", Rev: 4}).
				op("register", "read", 40, 50, op{Key: "k", Value: "a", Rev: 3}), Broken, "no order explains"},
		{"registers", "one revision has two values",
			begun().op("register", "read", 20, 30, op{Key: "k", Value: "a", Rev: 4}).
				op("register", "write", 35, 36, op{Key: "k", Value: "b"}).op("register", "read", 40, 50,
				op{Key: "k", Value: "b", Rev: 4}), Broken, "revision 4 was read as"},
		{"registers", "a write takes effect twice", twice(), Broken, "no order explains"},
		{"registers", "a write takes effect twice with older servers", older(twice()), Kept, "older servers"},
		{"registers", "keys are apart", begun().op("register", "write", 20, 30, op{Key: "l", Value: "b"}).
			op("register", "read", 40, 50, op{Key: "k", Value: "a", Rev: 3}), Kept, ""},
	}
}

func claimCases() []trialCase {
	type op = history.Op
	made := func() *book { return newBook().op("claim", "create", 0, 10, op{Task: 7, Value: "t"}) }
	who := func(agent string, attempt uint32, o op) op {
		o.Task, o.Agent, o.Incarnation, o.Attempt = 7, agent, 1, attempt
		return o
	}
	held := func() *book { return made().op("claim", "claim", 20, 30, who("a", 1, op{})) }
	again := func() *book { return held().op("claim", "next", 40, 50, who("b", 2, op{})) }
	cases := []trialCase{
		{"claims", "claimed, worked on, completed",
			held().op("claim", "start", 40, 50, who("a", 1, op{State: "IN_PROGRESS"})).
				op("claim", "complete", 60, 70, who("a", 1, op{Value: "v"})).op("claim", "final", 80, 90,
				who("a", 1, op{State: completed, Value: "v"})), Kept, ""},
		{"claims", "asked again it gets the same attempt", held().op("claim", "claim", 40, 50, who("a", 1, op{})),
			Kept, ""},
		{"claims", "an attempt is given to two", held().op("claim", "claim", 40, 50, who("b", 1, op{})),
			Broken, "no order explains"},
		{"claims", "recovered and claimed again", again(), Kept, ""},
		{"claims", "an attempt is left out", held().op("claim", "claim", 40, 50, who("b", 3, op{})),
			Broken, "no order explains"},
		{"claims", "an attempt is left out by a claim without an answer",
			held().op("claim", "next", 32, 35, op{Agent: "c", Incarnation: 1, Outcome: history.Unknown}).
				op("claim", "claim", 40, 50, who("b", 3, op{})), Kept, ""},
		{"claims", "an older attempt works on", again().op("claim", "start", 60, 70,
			who("a", 1, op{State: "IN_PROGRESS"})), Broken, "no order explains"},
		{"claims", "an older attempt completes", again().op("claim", "complete", 60, 70,
			who("a", 1, op{Value: "v"})), Broken, "no order explains"},
		{"claims", "the last attempt completes after it was taken back",
			held().op("claim", "get", 40, 50, who("a", 1, op{State: "PENDING"})).
				op("claim", "complete", 60, 70, who("a", 1, op{Value: "v"})), Kept, ""},
		{"claims", "what was given back is worked on",
			held().op("claim", "fail", 40, 50, who("a", 1, op{State: "PENDING"})).
				op("claim", "start", 60, 70, who("a", 1, op{State: "IN_PROGRESS"})), Broken, "no order explains"},
		{"claims", "claimed after it was completed",
			held().op("claim", "complete", 40, 50, who("a", 1, op{Value: "v"})).
				op("claim", "claim", 60, 70, who("b", 2, op{})), Broken, "no order explains"},
		{"claims", "an accepted completion is accepted again",
			held().op("claim", "complete", 40, 50, who("a", 1, op{Value: "v"})).
				op("claim", "complete", 60, 70, who("a", 1, op{Value: "v"})), Kept, ""},
		{"claims", "the result is another one", held().op("claim", "complete", 40, 50, who("a", 1, op{Value: "v"})).
			op("claim", "final", 60, 70, who("a", 1, op{State: completed, Value: "w"})), Broken, "no order explains"},
		{"claims", "a completion without an answer took effect",
			held().op("claim", "complete", 40, 50, who("a", 1, op{Value: "v", Outcome: history.Unknown})).
				op("claim", "final", 60, 70, who("a", 1, op{State: completed, Value: "v"})), Kept, ""},
		{"claims", "a completion that was refused took effect",
			held().op("claim", "complete", 40, 50, who("a", 1, op{Value: "v", Outcome: history.Failed})).
				op("claim", "final", 60, 70, who("a", 1, op{State: completed, Value: "v"})), Broken,
			"no order explains"},
		{"claims", "canceled and completed", held().op("claim", "cancel", 40, 50, op{Task: 7, State: canceled}).
			op("claim", "complete", 60, 70, who("a", 1, op{Value: "v"})), Broken, "no order explains"},
		{"claims", "nobody canceled it", held().op("claim", "final", 60, 70,
			who("a", 1, op{State: canceled})), Broken, "no order explains"},
		{"claims", "a handed-off task is claimed",
			held().op("claim", "handoff", 40, 50, who("a", 1, op{Value: "v", List: []string{"8"}})).
				op("claim", "claim", 60, 70, op{Task: 8, Agent: "b", Incarnation: 1, Attempt: 1}), Kept, ""},
		{"claims", "a task is claimed before the hand-off",
			held().op("claim", "claim", 32, 35, op{Task: 8, Agent: "b", Incarnation: 1, Attempt: 1}).
				op("claim", "handoff", 40, 50, who("a", 1, op{Value: "v", List: []string{"8"}})), Broken,
			"no order explains"},
	}
	for _, between := range []string{"task.recovered", "task.started"} {
		b := newBook().event(1, 10, history.Event{Kind: "task.created", Task: 7}).event(1, 20,
			history.Event{Kind: "task.claimed", Task: 7, Attempt: 1}).
			event(1, 30, history.Event{Kind: between, Task: 7, Attempt: 1}).event(1, 40,
			history.Event{Kind: "task.claimed", Task: 7, Attempt: 2})
		c := trialCase{"claims", "the log has " + between + " in between", b, Kept, ""}
		if between != "task.recovered" {
			c.verdict, c.what = Broken, "the log says"
		}
		cases = append(cases, c)
	}
	return append(cases, trialCase{"claims", "the log has the holder back in between",
		newBook().event(1, 10, history.Event{Kind: "task.created", Task: 7}).
			event(1, 20, history.Event{Kind: "task.claimed", Task: 7, Attempt: 1}).
			event(1, 30, history.Event{Kind: "task.recovered", Task: 7, Attempt: 1}).
			event(1, 40, history.Event{Kind: "agent.adopted", Task: 7}).
			event(1, 50, history.Event{Kind: "task.claimed", Task: 7, Attempt: 2}), Broken, "the log says"})
}

func lifecycleCases() []trialCase {
	type op = history.Op
	made := func() *book { return newBook().op("lifecycle", "create", 0, 10, op{Task: 7, Key: "hand", Value: "t"}) }
	by := func(agent string, attempt uint32, o op) op {
		o.Task, o.Agent, o.Incarnation, o.Attempt, o.Value = 7, agent, 1, attempt, "t"
		return o
	}
	final := func(b *book, o op) *book { return b.op("lifecycle", "final", 100_000, 100_010, o) }
	done := by("a", 1, op{State: completed})
	waiting := func(b *book) *book {
		b.look(179_000, "lifecycle/work.2", 1, "running", "WAITING", "")
		return final(b, op{Task: 7, Key: "work", Value: "t", State: "PENDING"})
	}
	queued := func(o *outageBook) *book {
		o.op("outage", "create", 0, 10, op{Task: 1, Key: "fetch", Value: "t1"})
		o.look(179_000, "outage/fetch.2", 1, "running", "WAITING", "")
		return o.end(1, "QUEUED").book
	}
	return []trialCase{
		{"lifecycle", "completed as it was acknowledged",
			final(made().op("lifecycle", "complete", 20, 30, by("a", 1, op{})), done), Kept, ""},
		{"lifecycle", "an accepted task is lost", final(made(), op{Task: 8, Value: "u", State: completed}),
			Broken, "is lost"},
		{"lifecycle", "a task without an answer is lost",
			final(made().op("lifecycle", "create", 20, 30, op{Value: "u", Outcome: history.Unknown}), done), Kept, ""},
		{"lifecycle", "a title is there twice", final(final(made(), done),
			op{Task: 8, Value: "t", State: completed}), Broken, "is there twice"},
		{"lifecycle", "a completion is forgotten",
			final(made().op("lifecycle", "complete", 20, 30, by("a", 1, op{})),
				by("a", 1, op{State: "IN_PROGRESS"})), Broken, "but at the end it is IN_PROGRESS"},
		{"lifecycle", "completed by an older attempt",
			final(made().op("lifecycle", "complete", 20, 30, by("a", 1, op{})),
				by("b", 2, op{State: completed})), Broken, "by attempt 2 of b"},
		{"lifecycle", "two lives were told",
			final(made().op("lifecycle", "complete", 20, 30, by("b", 2, op{})).life("a", 1, "h1", 0,
				50).word(15, "complete", 7, 1),
				by("b", 2, op{State: completed})), Broken, "acknowledged as completed by attempt 1 of a"},
		{"lifecycle", "a life was told what is true",
			final(made().life("a", 1, "h1", 0, 50).word(15, "complete", 7, 1), done), Kept, ""},
		{"lifecycle", "a task is forgotten while its agent waits", waiting(made()), Broken, "waits for a task"},
		{"lifecycle", "a task waits since its role is half-open", queued(newOutage(1).half()), Kept, "was half-open"},
		{"lifecycle", "its role has opened again", queued(newOutage(1).half().says("role.open", 0, 0, "fetch: all is well")),
			Broken, "waits for a task"},
		{"lifecycle", "a task is not finished and nobody is idle",
			final(made(), op{Task: 7, Key: "work", Value: "t", State: "PENDING"}), Kept, "nobody idle"},
		{"lifecycle", "a task of another workload is lost",
			final(newBook().op("outage", "create", 0, 10, op{Task: 9, Key: "fetch", Value: "t"}), done), Broken, "is lost"},
		{"lifecycle", "two workloads have the same title", final(made(), done).op("outage", "final", 0, 10,
			op{Task: 8, Key: "fetch", Value: "t", State: completed}), Kept, ""},
		{"lifecycle", "the log completes it twice",
			newBook().event(1, 10, history.Event{Kind: "task.completed", Task: 7}).
				event(1, 20, history.Event{Kind: "task.completed", Task: 7}), Broken, "twice"},
	}
}
