// Package sim runs simulated days of a whole fleet and judges them by ledgers of
// its own. There is no production code in it.
//
// Three or five real replicas with their duty loops run on disks and a network of
// the simulation's own, in simulated time (testing/synctest). Around them are models
// of everything that talks to a cluster: hosts that take orders, fork, beat, freeze
// and report as agentd does; agents that join, wait, claim, work, crash and hang;
// people who create and cancel tasks and stop and start agents.
//
// # Faults
//
// Some thirty kinds strike servers (faults_test.go, faults_members_test.go): they are
// killed, also in the middle of writes that are then lost or not, frozen, stopped,
// partitioned in every way, their messages lost, delayed, doubled, their disks slow or
// stuck, they are replaced, and a backup is restored. Some ten strike hosts. A seed
// gives each kind a weight, often none, so that days differ; now and then two strike at
// once, and now and then nothing does for up to an hour. Every fourth seed has five
// servers, every tenth the timers of the product; the others beat once a second, which
// costs a third and scales no law: leases, fences and their bounds are the product's.
//
// A frozen server is held at its network and its disk, all that a test can hold; its
// timers go on. A disk that lost what it had acknowledged, and a server that lies, are
// not among the faults: the product does not survive them.
//
// # Judges
//
// What hosts, agents and people did and were told is written down as it happens
// (type ledger) and compared with the laws; the state machine's own word is used
// only where a ledger cannot know (Check, hashes, lateness, Why). Type judges compares
// what the servers show: one leader a term, the same state at the same entry, the same
// events without a gap, and every acknowledged task told in them. Who is told of
// escalations (type pager) keeps a ledger too: what counts as told was told. After each fault
// people can write again within a bound, and after each calm all servers agree. At the
// end the checks of jepsen/check judge the record of the day, also what each fault
// touched: while a majority of servers was untouched people could write, leases of lives
// on untouched hosts did not end, and all agents are at work some time after the last fault.
//
// # Detection
//
// TestFalseAlarms and TestTrueAlarms have other players in the same world (type cast): 200
// healthy agents of the kinds that watchdogs take for dead (detect_parts_test.go), and agents,
// hosts, rooms and mailboxes that go wrong in every known way (detect_sick_test.go), each with
// the bound within which it must be found. Type lookout reads the events of the leader and looks
// at every verdict. Hosts gossip there.
//
// # Running it
//
//	go test ./jepsen/sim                                         some simulated hours
//	go test ./jepsen/sim -run SimulatedDay -sim.seed=42 -v       one day
//	go test ./jepsen/sim -run Month -sim.days=30 -timeout=2h     days in parallel
//	go test ./jepsen/sim -run Month -sim.time=2h -timeout=4h     as many as fit
//
//	go test ./jepsen/sim -run FalseAlarms -sim.detect=24 -v      a day of 200 healthy agents
//
// A day of TestMonth that fails leaves its record in -sim.out and says how to repeat
// it. The seed fixes the plan of faults and behaviour. Goroutines of the same simulated
// instant still race, so that two runs of one seed differ in detail.
package sim
