package check

import (
	"vigil/jepsen/history"
)

func ledgerCases() []trialCase {
	return []trialCase{
		{"one life", "one after the other", newBook().life("r/f", 1, "h1", 0, 1000).life("r/f", 2, "h2",
			1100, 2000), Kept, ""},
		{"one life", "two at once", newBook().life("r/f", 1, "h1", 0, 1500).life("r/f", 2, "h2", 1100,
			2000), Broken, "two lives ran at once"},
		{"one life", "two at once of a replica", newBook().life("r/f.2", 1, "h1", 0, 1500).life("r/f.2", 2,
			"h2", 1100, 2000), Broken, "two lives ran at once"},
		{"one life", "two at once of a role that is not fenced",
			newBook().life("r/q", 1, "h1", 0, 1500).life("r/q", 2, "h2", 1100, 2000), Nothing, ""},
		{"one life", "its shim had been stopped",
			newBook().life("r/f", 1, "h1", 0, 1000, 5000, 5100).life("r/f", 2, "h2", 3000, 9000).
				touch("h1", history.Stopped, 1000, 4990), Kept, "its shim had been stopped"},
		{"one life", "its host had been cut off",
			newBook().life("r/f", 1, "h1", 0, 1000, 5000, 5100).life("r/f", 2, "h2", 3000, 9000).
				touch("h1", history.Cut, 1000, 4990), Broken, "two lives ran at once"},
		{"fencing", "an older life is heard", newBook().life("r/q", 1, "h1", 0, 1500).word(1300, "start", 7,
			1).life("r/q", 2, "h2", 1100, 2000), Broken, "acknowledged to an older life"},
		{"fencing", "each is heard in its time", newBook().life("r/q", 1, "h1", 0, 1000).word(900, "start",
			7, 1).life("r/q", 2, "h2", 1100, 2000), Kept, ""},
		{"completed once", "by two", newBook().life("r/q", 1, "h1", 0, 1000).word(900, "complete", 7,
			1).life("r/q", 2, "h2", 1100, 2000).word(1900, "complete", 7, 2),
			Broken, "completed twice"},
		{"completed once", "by one", newBook().life("r/q", 1, "h1", 0, 1000).word(900, "complete", 7,
			1).word(950, "complete", 7, 1), Kept, ""},
		{"double starts", "the same life twice", newBook().life("r/q", 1, "h1", 0, 1000).life("r/q", 1,
			"h1", 2000, 3000), Broken, "was started twice"},
		{"double starts", "as ordered", newBook().says(0, "order.start", "r/q", 1, "").life("r/q", 1, "h1",
			10, 1000).says(90_000, "host.ready", "", 0, ""), Kept, ""},
		{"double starts", "not ordered", newBook().says(0, "order.start", "r/q", 1, "").life("r/q", 2, "h1",
			10, 1000).says(90_000, "host.ready", "", 0, ""), Broken, "without an order"},
		{"double starts", "begun before it was ordered",
			newBook().op("claim", "claim", 5000, 5010, history.Op{Task: 1, Index: 100}).
				says(6000, "order.start", "r/q", 1, "").life("r/q", 1, "h1", 10, 1000), Broken,
			"before its start was ordered"},
	}
}

func orderCases() []trialCase {
	started := func() *book {
		return newBook().says(0, "order.start", "r/a", 1, "").says(5, "agent.started", "r/a", 1, "")
	}
	return []trialCase{
		{"start orders", "after an exit", started().says(10, "agent.exited", "r/a", 1, "").says(20,
			"order.start", "r/a", 2, ""), Kept, ""},
		{"start orders", "after a fence", started().says(10, "agent.fence_ended", "r/a", 1, "").says(20,
			"order.start", "r/a", 2, ""), Kept, ""},
		{"start orders", "after it was withdrawn", newBook().says(0, "order.start", "r/a", 1, "").says(10,
			"order.canceled", "r/a", 1, "").says(20, "order.start", "r/a", 2, ""), Kept, ""},
		{"start orders", "while one is open", newBook().says(0, "order.start", "r/a", 1, "").says(20,
			"order.start", "r/a", 2, ""), Broken, "while 1 was not over"},
		{"start orders", "while a life runs", started().says(20, "order.start", "r/a", 2, ""), Broken,
			"while 1 was not over"},
		{"start orders", "while an adopted life runs",
			started().says(10, "agent.fence_ended", "r/a", 1, "").says(15, "agent.adopted", "r/a", 1, "").
				says(20, "order.start", "r/a", 2, ""), Broken, "while 1 was not over"},
		{"start orders", "with a number that was used", started().says(10, "agent.exited", "r/a", 1,
			"").says(20, "order.start", "r/a", 1, ""), Broken, "was ordered after 1"},
		{"start orders", "of another agent", started().says(20, "order.start", "r/b", 1, ""), Kept, ""},
		{"start orders", "with a gap in what was seen",
			started().event(1, 20, history.Event{Seq: 9, Kind: "order.start", Agent: "r/a", Incarnation: 2}), Kept, ""},
		{"start orders", "after a restore", started().says(10, "cluster.restored", "", 0, "").says(20,
			"order.start", "r/a", 2, ""), Kept, "a backup was restored"},
	}
}

func leaseCases() []trialCase {
	ended := func() *book {
		return newBook().life("r/a", 1, "h1", 0, 20_000).says(10_000, "agent.lease_ended", "r/a", 1, "")
	}
	all := func(b *book, what string) *book {
		return b.touch("s1", what, 7000, 9000).touch("s2", what, 7000, 9000).touch("s3", what, 7000, 9000)
	}
	joined := func() *book { return newBook().life("r/a", 1, "h1", 0, 1000).says(100, "agent.joined", "r/a", 1, "") }
	leased := func(at int64) *book {
		return newBook().life("r/a", 1, "h1", 0, 1000).look(at, "r/a", 1, "running", "WAITING", "")
	}
	return []trialCase{
		{"false deaths", "nothing happened to its host", ended(), Broken, "the lease of life 1 on h1 ended"},
		{"false deaths", "a fence ended", newBook().life("r/a", 1, "h1", 0, 20_000).says(10_000,
			"agent.fence_ended", "r/a", 1, ""), Broken, "the fence of life 1"},
		{"false deaths", "another host was touched", ended().touch("h2", history.Killed, 7000, 9000),
			Broken, "no fault touched that host"},
		{"false deaths", "another agent was touched", ended().touchAgent("h1", history.Killed, "r/b", 7000,
			9000), Broken, "no fault touched that host"},
		{"false deaths", "only the clock of its host was changed",
			ended().touch("h1", history.Clock, 7000, 9000), Broken, "no fault touched that host"},
		{"false deaths", "servers were killed, but not all",
			ended().touch("s1", history.Killed, 7000, 9000).touch("s2", history.Killed, 7000, 9000), Broken,
			"no fault touched that host"},
		{"false deaths", "its host was cut off", ended().touch("h1", history.Cut, 7000, 9000), Kept, "touched: cut"},
		{"false deaths", "its host was cut off long before", ended().touch("h1", history.Cut, 1000, 3000),
			Broken, "no fault touched that host"},
		{"false deaths", "it was killed", ended().touchAgent("h1", history.Killed, "r/a", 7000, 9000),
			Kept, "touched: killed"},
		{"false deaths", "it was told to end", ended().touchAgent("h1", history.Told, "r/a", 7000, 7000),
			Kept, "told to end"},
		{"false deaths", "another agent was told to end",
			ended().touchAgent("h1", history.Told, "r/b", 7000, 7000), Broken, "no fault touched that host"},
		{"false deaths", "no server could be reached", all(ended(), history.Unheard), Kept, "no server was whole"},
		{"false deaths", "all servers were dead: no time passed", all(ended(), history.Killed), Broken,
			"no fault touched that host"},
		{"false deaths", "its host was cut off before all servers were dead",
			all(ended(), history.Killed).touch("h1", history.Cut, 4000, 6000), Kept, "touched: cut"},
		{"false deaths", "it had died by itself", newBook().life("r/a", 1, "h1", 0, 7000).says(10_000,
			"agent.lease_ended", "r/a", 1, ""), Kept, "by its own account"},
		{"false deaths", "it was frozen and went on", newBook().life("r/a", 1, "h1", 0, 8000, 11_000,
			20_000).says(10_000, "agent.lease_ended", "r/a", 1, ""), Broken, "the lease of life 1"},
		{"false deaths", "it was started by hand", newBook().life("r/b", 1, "h1", 0, 1000).says(10_000,
			"agent.lease_ended", "r/a", 1, ""), Kept, "no life of it is in the ledger"},
		{"lease ends", "in time", newBook().life("r/a", 1, "h1", 0, 1000).look(30_000, "r/a", 1, "none",
			"DISCONNECTED", ""), Kept, ""},
		{"lease ends", "not at all", leased(30_000), Broken, "but is still WAITING"},
		{"lease ends", "the log lets go in time", joined().says(4000, "agent.lease_ended", "r/a", 1, ""), Kept, ""},
		{"lease ends", "the log never lets go", joined(), Broken, "had a lease for"},
		{"lease ends", "the log lets go late", joined().says(40_000, "agent.exited", "r/a", 1, ""),
			Broken, "had a lease for"},
		{"lease ends", "the log lets go, and lets it join again",
			joined().says(900, "agent.left", "r/a", 1, "").says(950, "agent.joined", "r/a", 1, ""), Broken,
			"had a lease for"},
		{"lease ends", "it is not late yet", leased(5000), Nothing, ""},
		{"lease ends", "without a majority", leased(30_000).touch("s1", history.Killed, 25_000,
			26_000).touch("s2", history.Killed, 25_000, 26_000), Kept, "cluster time stood still"},
		{"lease ends", "while servers are struck in turn",
			leased(14_000).touch("s1", history.Disk, 1000, 6500).touch("s2", history.Killed, 7500, 12_000),
			Kept, "stood still until"},
		{"lease ends", "long after servers were struck in turn",
			leased(30_000).touch("s1", history.Disk, 1000, 6500).touch("s2", history.Killed, 7500, 12_000),
			Broken, "but is still WAITING"},
		{"lease ends", "while only its process is stopped",
			leased(30_000).touchAgent("h1", history.Stopped, "r/a", 1000, 31_000), Kept, "its shim vouched for it"},
		{"lease ends", "a newer life holds it", newBook().life("r/a", 1, "h1", 0, 1000).life("r/a", 2, "h1",
			2000, 40_000).look(30_000, "r/a", 2, "running", "WAITING", ""), Nothing, ""},
	}
}

func restartCases() []trialCase {
	// Failures in a row, each start so long after the failure before it.
	crashes := func(how string, pauses ...int64) *book {
		b := newBook()
		b.rec.Run.Settings = map[string]string{"breaker_starts": "3", "breaker_window": "1m0s"}
		at := int64(0)
		for i, pause := range append([]int64{0}, pauses...) {
			at += pause
			b.says(at, "order.start", "r/a", uint64(i+1), "")
			at += 100
			b.says(at, "agent.exited", "r/a", uint64(i+1), how)
		}
		return b
	}
	next := func(b *book, at int64) *book { return b.says(at, "order.start", "r/a", 9, "") }
	parked := func() *book {
		return crashes("exited with code 1", 10, 3000).says(4000, "agent.parked", "r/a", 3,
			"3 failures; next start in 10s")
	}
	// An answer tells that the second failure was not before 200 ms.
	known := func(b *book) *book { return b.op("claim", "claim", 200, 205, history.Op{Index: 103}) }
	slow := crashes("exited with code 1", 10_000, 10_000, 20_000)
	slow.rec.Run.Settings["breaker_window"] = "5s"
	return []trialCase{
		{"restarts", "few failures", next(crashes("exited with code 1", 10), 5000), Kept, ""},
		{"restarts", "a pause is cut short", known(next(crashes("exited with code 1", 10), 1000)), Broken,
			"after failure 2 in a row"},
		{"restarts", "a pause is cut short after a signal",
			known(next(crashes("ended by signal: killed", 10), 1000)), Broken, "after failure 2 in a row"},
		{"restarts", "a pause is cut short by a human",
			next(crashes("exited with code 1", 10).says(300, "agent.restarted", "r/a", 2, ""), 1000), Kept, ""},
		{"restarts", "they worked in between",
			next(crashes("exited with code 1", 10).says(300, "task.completed", "r/a", 2, ""), 1000), Kept, ""},
		{"restarts", "too many failures", next(crashes("exited with code 1", 10, 3000, 6000), 40_000),
			Broken, "it should be parked after 3"},
		{"restarts", "far between", slow, Kept, ""},
		{"restarts", "they were no failures", next(crashes("exited with code 0", 10, 10, 10, 10), 9000), Kept, ""},
		{"restarts", "forgiven by a human",
			next(crashes("exited with code 1", 10, 3000).says(4000, "agent.wanted", "r/a", 3, ""), 5000), Kept, ""},
		{"restarts", "parked and started too early", next(parked(), 9000), Broken, "after it was parked for 10s"},
		{"restarts", "parked and started in time", next(parked(), 19_000), Kept, ""},
		{"restarts", "parked and let go", next(parked().says(5000, "agent.unparked", "r/a", 3, ""), 6000), Kept, ""},
	}
}
