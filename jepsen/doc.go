// Command jepsen lets faults loose on a whole vigil: it builds the product, makes
// servers and hosts out of namespaces on this machine, has workloads ask for what
// users ask for, breaks things meanwhile, judges the record from outside, and writes
// a report.
//
//	jepsen run -time 5m -seed 7                          everything, mixed
//	jepsen run -nemesis 'leader_*,-leader_transferred'   some faults
//	jepsen run -workloads claim,requests -servers 5      some workloads, five servers
//	jepsen run -faults 500 -nemesis host -agents 11      so many faults of hosts, in rounds
//	jepsen run -older v0.1.0                             begins with an older build and upgrades it
//	jepsen check FOLDER                                  judge a record again
//	jepsen list                                          what there is to choose
//	jepsen ready                                         whether this machine can make a stand
//
// The exit code is 0 when every promise was kept, 1 when one was broken or could not
// be decided, 2 when the run itself failed. README.md tells how to read a report.
//
// Nothing below jepsen imports the product but its public client, save the simulation
// (package sim), which runs replicas in simulated time.
package main
