// Package hostfaults lets faults loose on the hosts of a stand and judges from the
// ledger of the agents what they did to law L7 (one life), L6 (fencing), L4 (dedup)
// and L8 (nothing lost), and whether every declared agent runs again in bounded time.
//
// The faults are those of package nemesis: all kinds of its lane host, and a few of
// its servers meanwhile. Each host has its faults one after the other, all hosts at
// the same time, in rounds; after each round everything is healed and all agents must
// run. What is chosen follows from a seed; when it strikes depends on the machine, so a
// seed gives the same kind of day again, not the same one.
//
//	go test ./jepsen/hostfaults -run HostFaults                        one short round
//	go test ./jepsen/hostfaults -run HostFaults -faults 500 -seed 7 -timeout 1h -v
//
// A run writes result.json and summary.txt to the folder that -out names.
package hostfaults
