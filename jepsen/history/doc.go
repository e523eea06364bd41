// Package history is the record of a run: what the workloads asked and were
// answered, which faults struck what, what the agents looked like from outside,
// and the event log of the product as it was watched. Workloads and nemeses write
// it while they run; checkers and the report read it afterwards, also years later.
//
// Times are CLOCK_BOOTTIME in nanoseconds, the clock of package ledger.
//
// # Files
//
// A run is a folder:
//
//	run.json         Run: what was run, and how to repeat it
//	history.jsonl    one Op a line, in the order of their returns
//	faults.jsonl     one Fault a line, in the order of their ends
//	looks.jsonl      one Look a line: an agent as the cluster shows it
//	events.jsonl     one Event a line, for each watcher in the order in which it came
//	ledger/          the agents' own accounts: package ledger
//	NAME/            logs of the machine NAME
package history
