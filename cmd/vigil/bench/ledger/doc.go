// Package ledger is the account of agents' lives that no part of the product
// writes: every life has a file of its own in which it notes that it runs, every
// 50 ms, and what the cluster acknowledged to it. Judge reads the files and says
// which laws were broken.
//
// Times are CLOCK_BOOTTIME in nanoseconds. All machines of a stand are namespaces
// of one kernel, so they share that clock; the product's own judgement is never
// asked. The package imports nothing of the product: the benchmark of host losses and jepsen both
// keep their accounts with it, and the product imports nothing of its judge.
//
// # Format
//
// A file has one record a line:
//
//	life AGENT INCARNATION HOST PID
//	start NS | term NS | exit NS     begin; SIGTERM; end by itself
//	t NS                             it runs
//	gone NS                          its process is gone (by the driver)
//	said SENT NS WHAT TASK ATTEMPT   acknowledged; SENT is when the call began
//
// A process that is frozen or dead writes nothing: it ran from start to the last
// record, but for gaps of more than three ticks. A record that was cut off by a kill
// is ignored.
package ledger
