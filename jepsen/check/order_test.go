package check

import (
	"vigil/jepsen/history"
)

func watchCases() []trialCase {
	type event = history.Event
	got := func(seqs ...uint64) *book {
		b := newBook()
		for i, seq := range seqs {
			b.event(1, int64(i)*10, event{Seq: seq, Kind: "x"})
		}
		return b
	}
	two := func(b *book, seqs ...uint64) *book {
		for i, seq := range seqs {
			b.event(2, int64(i)*10, event{Seq: seq, Kind: "x"})
		}
		return b
	}
	resumed := func(seq uint64) *book { return got(1, 2).event(1, 50, event{Seq: seq, Kind: "x", Resumed: true}) }
	newest := func(b *book, index uint64) *book { return b.op("watch", "last", 100, 110, history.Op{Index: index}) }
	marked := func(b *book, every string) *book {
		b.rec.Run.Settings = map[string]string{"mark_every": every}
		return b
	}
	worded := func(b *book, older string) *book {
		b.rec.Run.Older = older
		return b.event(2, 5, event{Seq: 1, Kind: "x", Text: "1 roles"})
	}
	led := func() *book { return got(1, 2).event(1, 50, event{Kind: "leader.established"}) }
	return []trialCase{
		{"watch", "one after the other", got(1, 2, 3), Kept, ""},
		{"watch", "from the oldest kept", got(5, 6, 7), Kept, ""},
		{"watch", "a gap", got(1, 2, 4), Broken, "missed 1 events between 2 and 4"},
		{"watch", "twice", got(1, 2, 2), Broken, "got event 2 twice"},
		{"watch", "back", got(1, 2, 3, 2), Broken, "got event 2 after 3"},
		{"watch", "resumed", resumed(3), Kept, ""},
		{"watch", "a gap after it resumed", resumed(4), Broken, "after it resumed"},
		{"watch", "twice after it resumed", resumed(2), Broken, "twice after it resumed"},
		{"watch", "two watchers get the same", two(got(1, 2, 3), 1, 2, 3), Kept, ""},
		{"watch", "two watchers get different events",
			got(1, 2).event(2, 5, event{Seq: 1, Kind: "x"}).event(2, 15, event{Seq: 2, Kind: "y"}), Broken,
			"got different events"},
		{"watch", "two versions word an event differently", worded(got(1), "0.1"), Kept, "two versions"},
		{"watch", "one version words an event differently", worded(got(1), ""), Broken, "got different events"},
		{"watch", "a watcher is left behind", two(got(1, 2, 3), 1, 2), Broken, "watcher 2 got nothing after event 2"},
		{"watch", "all are left behind", newest(got(1, 2, 3), 4), Broken, "watcher 1 got nothing after event 3"},
		{"watch", "all came to the end", newest(got(1, 2, 3), 3), Kept, ""},
		{"watch", "a watcher was told that events are gone", newest(two(got(1, 2, 3), 1, 2), 3).
			op("watch", "open", 40, 50, history.Op{Process: 2, Outcome: history.Failed, Error: "compacted"}),
			Kept, "not kept"},
		{"agreement", "all agree", marked(led(), "2"), Kept, ""},
		{"agreement", "nothing was compared yet", led(), Nothing, ""},
		{"agreement", "nothing is ever compared", marked(led(), "0"), Nothing, ""},
		{"agreement", "a server differs", got(1, 2).event(1, 50,
			event{Kind: "server.diverged", Text: "s2"}), Broken, "state of server s2 differs"},
	}
}

func progressCases() []trialCase {
	writes := func(b *book, from, to int64) *book {
		for at := from; at < to; at += 100 {
			b.op("claim", "create", at, at+50, history.Op{})
		}
		return b
	}
	// Writes are tried, but not answered.
	tries := func(b *book, from, to int64) *book {
		return b.op("claim", "create", from, to, history.Op{Outcome: history.Unknown})
	}
	// The bound of a stall is 14 s, that of agents 38 s after 60 s.
	stall := func() *book { return writes(tries(writes(newBook(), 0, 5000), 5000, 30_000), 30_000, 35_000) }
	moving := newBook()
	writes(tries(writes(moving, 0, 1000), 1000, 60_000), 60_000, 61_000)
	for i := range int64(6) {
		moving.touch([]string{"s1", "s2", "s3"}[i%3], history.Cut, 1000+i*10_000, 11_000+i*10_000)
	}
	calm := func() *book { return writes(newBook(), 55_000, 180_000) }
	rested := func(b *book) *book {
		b.rec.Run.Rests = []history.Rest{{From: 1000 * ms, To: 50_000 * ms}}
		return b
	}
	broke := func(b *book) *book {
		b.rec.Faults[0].Broken = "let in"
		return b
	}
	dead := func(why string) *book { return calm().look(170_000, "r/a", 3, "lost", "DISCONNECTED", why) }
	return []trialCase{
		{"availability", "writes all the time", writes(newBook(), 0, 30_000), Kept, ""},
		{"availability", "no write for long", stall(), Broken, "no write was acknowledged for 2"},
		{"availability", "no write for long, with one server away",
			stall().touch("s1", history.Killed, 4000, 31_000), Broken, "2 of 3 servers were untouched"},
		{"availability", "no write for long, without a majority",
			stall().touch("s1", history.Killed, 4000, 31_000).touch("s2", history.Cut, 4000, 31_000), Kept,
			"no majority of servers"},
		{"availability", "no write for long, with changed clocks",
			stall().touch("s1", history.Clock, 4000, 31_000).touch("s2", history.Clock, 4000, 31_000), Broken,
			"3 of 3 servers"},
		{"availability", "nobody asked", writes(writes(newBook(), 0, 5000), 30_000, 35_000), Kept, "nobody asked"},
		{"availability", "the majority changes all the time", moving, Broken, "at every moment a majority"},
		{"recovery", "writes and agents are back", calm().look(70_000, "r/a", 3, "running", "WAITING", ""), Kept, ""},
		{"recovery", "no write is acknowledged", tries(writes(newBook(), 0, 59_000), 61_000, 179_000),
			Broken, "no write that began after the last fault"},
		{"recovery", "writes are back late", writes(tries(newBook(), 61_000, 179_000), 90_000, 91_000),
			Broken, "the first write after the last fault"},
		{"recovery", "an agent does not run", dead("waiting for a host"), Broken, "r/a does not run"},
		{"recovery", "an agent is about to run for a task that came at the end",
			calm().look(70_000, "r/a", 3, "none", "DISCONNECTED", "no_task").
				look(178_000, "r/a", 3, "none", "DISCONNECTED", "no_task").
				look(179_000, "r/a", 4, "not_joined", "DISCONNECTED", "not_joined"), Kept,
			"before the agent had to run"},
		{"recovery", "an agent whose lives end does not come up",
			calm().look(178_000, "r/a", 3, "none", "DISCONNECTED", "back_off").
				look(179_000, "r/a", 4, "not_joined", "DISCONNECTED", "not_joined"), Broken, "r/a does not run"},
		{"recovery", "an agent does not run since it got a task",
			calm().look(70_000, "r/a", 3, "none", "DISCONNECTED", "no_task").
				look(179_000, "r/a", 4, "not_joined", "DISCONNECTED", "not_joined"), Broken, "r/a does not run"},
		{"recovery", "an agent does not run between two rounds",
			rested(dead("parked").look(30_000, "r/b", 1, "lost", "DISCONNECTED", "no host")), Broken,
			"r/b does not run"},
		{"recovery", "the cluster says that it runs, and it does not",
			calm().life("r/a", 3, "h1", 0, 1000).look(179_000, "r/a", 3, "running", "WAITING", ""), Broken,
			"r/a does not run"},
		{"guards", "a fault saw what must not be", broke(newBook().touch("h1", history.Away, 1, 2)),
			Broken, "a_kind: let in"},
		{"guards", "no fault saw anything", newBook().touch("h1", history.Away, 1, 2), Kept, ""},
		{"recovery", "an agent is parked", dead("parked after 5 failures"), Kept, "parked"},
		{"recovery", "an agent runs late", calm().look(70_000, "r/a", 3, "lost", "DISCONNECTED",
			"").look(120_000, "r/a", 4, "running", "ACTIVE", ""), Broken, "ran again only"},
		{"recovery", "an agent runs late after a back-off",
			calm().look(70_000, "r/a", 3, "none", "DISCONNECTED", "back-off after failure 5").
				look(120_000, "r/a", 4, "running", "ACTIVE", ""), Kept, "for a reason that was shown"},
	}
}
