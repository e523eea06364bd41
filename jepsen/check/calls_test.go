package check

import (
	"vigil/jepsen/history"
)

func requestCases() []trialCase {
	type op = history.Op
	two := func(kind string, a, b op) *book {
		a.WriteID, b.WriteID = "s/1", "s/1"
		return newBook().op("requests", kind, 0, 10, a).op("requests", kind, 5, 30, b)
	}
	final := func(b *book, o op) *book { return b.op("requests", "final", 100, 110, o) }
	created := op{Value: "t", Task: 7}
	lost := op{Value: "t", Outcome: history.Unknown}
	refused := func(code string, o op) op { o.Outcome, o.Error = history.Failed, code; return o }
	return []trialCase{
		{"requests", "both copies make one task", final(two("create", created, created), op{Value: "t", Task: 7}),
			Kept, ""},
		{"requests", "the copies make two tasks", final(two("create", created, op{Value: "t", Task: 8}),
			op{Value: "t", Task: 7}), Broken, "the tasks differ"},
		{"requests", "a copy without an answer makes another task",
			final(final(two("create", created, lost), op{Value: "t", Task: 7}), op{Value: "t", Task: 8}),
			Broken, "made 2 tasks"},
		{"requests", "an acknowledged task is not there",
			final(two("create", created, lost), op{Value: "u", Task: 9}), Broken, "not there at the end"},
		{"requests", "a server that does not lead refuses a copy",
			final(two("create", created, refused("not_leader", op{Value: "t"})), op{Value: "t", Task: 7}), Kept, ""},
		{"requests", "refused and made",
			final(two("create", refused("invalid", op{Value: "t"}), refused("invalid", op{Value: "t"})),
				op{Value: "t", Task: 7}), Broken, "was refused with invalid"},
		{"requests", "a repeated cancel is a conflict",
			two("cancel", op{Task: 7}, refused("conflict", op{Task: 7})), Broken, "done and conflict"},
		{"requests", "a cancel took effect and was refused",
			final(two("cancel", op{Task: 7, Outcome: history.Unknown}, refused("conflict", op{Task: 7})),
				op{Value: "t", Task: 7, State: canceled}), Broken, "but it took effect"},
		{"requests", "a cancel was refused",
			final(two("cancel", op{Task: 7, Outcome: history.Unknown}, refused("conflict", op{Task: 7})),
				op{Value: "t", Task: 7, State: "PENDING"}), Kept, "may not have held"},
		{"requests", "a set took effect and was refused",
			two("set", op{Agent: "a", Value: "x", Outcome: history.Unknown},
				refused("conflict", op{Agent: "a", Value: "x"})).
				op("requests", "set", 50, 60, op{Agent: "a", Value: "y", Old: "x", WriteID: "s/2"}), Broken,
			"but it took effect"},
	}
}

func readCases() []trialCase {
	type op = history.Op
	written := func() *book {
		return newBook().op("reads", "write", 0, 10, op{Key: "k", Value: "1"}).op("reads", "write", 20, 30,
			op{Key: "k", Value: "2"})
	}
	read := func(b *book, via string, call int64, value string, stale bool) *book {
		return b.op("reads", "read", call, call+5, op{Key: "k", Via: via, Value: value, Stale: stale})
	}
	back := func() *book { return read(read(written(), "s1", 40, "2", true), "s1", 5000, "1", true) }
	return []trialCase{
		{"reads", "the latest", read(written(), "s1", 40, "2", false), Kept, ""},
		{"reads", "not the latest", read(written(), "s1", 40, "1", false), Broken, "after 2 had been acknowledged"},
		{"reads", "while it is written", read(read(written(), "s1", 22, "1", false), "s1", 24, "2", false), Kept, ""},
		{"reads", "a stale read is old", read(written(), "s1", 40, "1", true), Kept, ""},
		{"reads", "a stale read is from the future", read(written(), "s1", 12, "2", true), Broken,
			"before that was written"},
		{"reads", "a stale read of what nobody wrote", read(written(), "s1", 40, "x", true), Broken,
			"which nobody wrote"},
		{"reads", "stale reads of one server go back", back(), Broken, "went back"},
		{"reads", "stale reads of one server go back after it was killed",
			back().touch("s1", history.Killed, 100, 900), Kept, ""},
		{"reads", "stale reads of one server go back after it was started as the newer build",
			back().touch("s1", history.Away, 100, 900), Kept, ""},
		{"reads", "stale reads of one server go back though it was only cut off",
			back().touch("s1", history.Cut, 100, 900), Broken, "went back"},
		{"reads", "a stale read while its server was killed",
			back().touch("s1", history.Killed, 4900, 5100), Kept, "may have ended"},
		{"reads", "stale reads of two servers", read(read(written(), "s1", 40, "2", true), "s2", 60, "1", true),
			Kept, ""},
		{"reads", "the index of a server goes back",
			written().op("reads", "index", 40, 45, op{Via: "s1", Index: 9, Stale: true}).
				op("reads", "index", 50, 55, op{Via: "s1", Index: 8, Stale: true}), Broken, "went back"},
		{"reads", "at the end a server is behind", written().op("reads", "final", 90, 95,
			op{Key: "k", Via: "s2", Value: "1", Stale: true}), Broken, "after 2 had been acknowledged"},
	}
}

func intentCases() []trialCase {
	type op = history.Op
	// The limit for a life that was stopped is at 19 s + 10 ms.
	stopped := func() *book {
		return newBook().life("r/a", 1, "h1", 0, 500).op("intent", "stop", 0, 10,
			op{Key: "r/a", Agent: "r/a", Incarnation: 1})
	}
	again := func(b *book, call int64, o op) *book {
		o.Key, o.Agent = "r/a", "r/a"
		return b.op("intent", "start", call, call+10, o)
	}
	paused := func(key string) *book {
		return newBook().op("intent", "pause", 0, 10, op{Key: key}).op("intent", "look", 20, 30,
			op{Agent: "r/a", Incarnation: 3, State: "running"})
	}
	runsOn := func() *book { return stopped().life("r/a", 1, "h1", 0, 25_000) }
	runsOn1 := func() *book { b := runsOn(); b.lives = b.lives[1:]; return b }
	term := func(b *book, at int64) *book { b.lives[len(b.lives)-1].Term = at * ms; return b }
	return []trialCase{
		{"intent", "stays stopped until it is started",
			again(stopped().life("r/a", 2, "h1", 3000, 4000), 2000, op{}), Kept, ""},
		{"intent", "starts while it is stopped", again(stopped().life("r/a", 2, "h1", 3000, 4000), 5000,
			op{}), Broken, "life 2 began"},
		{"intent", "a start without an answer may count", again(stopped().life("r/a", 2, "h1", 3000, 4000),
			2000, op{Outcome: history.Unknown}), Kept, ""},
		{"intent", "a start that was refused does not count",
			again(stopped().life("r/a", 2, "h1", 3000, 4000), 2000, op{Outcome: history.Failed}), Broken,
			"life 2 began"},
		{"intent", "the life that the stop knew begins late", stopped().life("r/a", 1, "h1", 300, 900), Kept, ""},
		{"intent", "runs on after a stop", runsOn1(), Broken, "after its stop was acknowledged"},
		{"intent", "runs on after a stop on a host that was cut off",
			runsOn1().touch("h1", history.Cut, 1000, 3000), Kept, "host was touched"},
		{"intent", "runs on after a stop without a majority",
			runsOn1().touch("s1", history.Killed, 1000, 3000).touch("s2", history.Cut, 2000, 3000), Kept,
			"no majority"},
		{"intent", "a stop without an answer promises nothing", newBook().life("r/a", 2, "h1", 3000, 4000).
			op("intent", "stop", 0, 10, op{Key: "r/a", Agent: "r/a", Outcome: history.Unknown}), Nothing, ""},
		{"intent", "goes on under a pause", paused("r/a").life("r/a", 3, "h1", 0, 9000), Kept, ""},
		{"intent", "starts under a pause", paused("r/a").life("r/a", 4, "h1", 3000, 4000), Broken, "life 4 began"},
		{"intent", "starts under the pause of its room", paused("r").life("r/a", 4, "h1", 3000, 4000),
			Broken, "life 4 began"},
		{"intent", "starts after it was resumed", paused("r").op("intent", "resume", 2000, 2010,
			op{Key: "r"}).life("r/a", 4, "h1", 3000, 4000), Kept, ""},
		{"intent", "is told to end under a pause", term(paused("r").life("r/a", 3, "h1", 0, 4000), 3900),
			Broken, "told to end under a pause"},
		{"intent", "is told to end under a pause by a human", term(paused("r").life("r/a", 3, "h1", 0, 4000), 3900).
			op("intent", "stop", 3800, 3810, op{Key: "r/a", Agent: "r/a", Incarnation: 3}), Kept,
			"stopped or restarted by a human"},
		{"intent", "the log starts what is stopped", stopped().says(10, "agent.stopped", "r/a", 1,
			"").says(20, "order.start", "r/a", 2, ""), Broken, "while it was stopped r/a"},
		{"intent", "the log starts what is in a paused room",
			stopped().event(1, 10, history.Event{Kind: "room.paused", Room: "r"}).says(20, "order.start",
				"r/b", 2, ""), Broken, "while it was paused r"},
		{"intent", "the log starts what is wanted again",
			stopped().says(10, "agent.stopped", "r/a", 1, "").says(15, "agent.wanted", "r/a", 1, "").
				says(20, "order.start", "r/a", 2, ""), Kept, ""},
	}
}
