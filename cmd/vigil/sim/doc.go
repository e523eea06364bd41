// Package sim runs a simulated week of a whole fleet and judges it by ledgers of
// its own. There is no production code in it.
//
// Three real replicas with their duty loops run on stores and a network in memory
// in simulated time (testing/synctest). Around them are models of everything that
// talks to a cluster: hosts that take orders, fork, beat, freeze and report as
// agentd does; agents that join, wait, claim, work, crash and hang; people who
// create and cancel tasks and stop and start agents; and faults of servers, hosts
// and networks, also of answers that get lost and requests that arrive late.
//
// # Judges
//
// What hosts, agents and people did and were told is written down as it happens
// (type ledger) and compared with the laws; the state machine's own word is used
// only where a ledger cannot know (Check, hashes, lateness, Why).
//
// # Running it
//
//	go test ./cmd/vigil/sim                                  some simulated hours
//	go test ./cmd/vigil/sim -run Week -sim.days=7 -timeout=1h -v
//	go test ./cmd/vigil/sim -run Week -sim.seed=42 -v
//
// The seed fixes the plan of faults and behaviour. Goroutines of the same simulated
// instant still race, so that two runs of one seed differ in detail.
package sim
