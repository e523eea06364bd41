// Package gossip tells servers early that a host has gone: servers and hosts probe
// each other by UDP (memberlist, LAN profile), and what a server hears of a host is
// one of its two reasons to doubt it; the order stream is the other. Gossip is a
// hint, the lease is the fact: nothing here ends a life by itself.
//
// # Members
//
// A member is one run of a program: its name is kind/id/boot/run, where run is a
// random number. So a daemon that was killed and started again on another port is a
// new member that nobody has to take for the old one, and a host that has rebooted is
// told from the one before. Names hold no time: which of two runs is the newer one is
// what each member has heard itself.
// The label of all packets is the cluster's id, and with a key they are encrypted:
// members of another cluster or with another key are never heard. Where members have
// identities keys come by themselves (SetKeys) and are replaced while members gossip: they
// take two for a while, and encrypt with one.
//
// # Heard
//
// Members find each other over TCP, but they are probed by UDP alone. Otherwise a
// host whose UDP port is blocked would pass for one that gossips. For the same
// reason a server counts a member that has just (re)joined only after it has
// answered a ping by UDP:
//
//	Unknown --joined--> (pinged) --answered--> Alive --failed--> Silent --joined--> (pinged)
//	                        |                    |
//	                        +--5 s--> Silent     +--says good-bye--> Left
//
// That a host has failed or left is also what other members say, one of which may lie. To a
// server it is a reason to ping the host itself, and only when that is not answered the host
// is Silent, or Left.
//
// Good-bye is said in the member's own data before it leaves: the library's
// notification does not tell a member that left from one that failed.
//
// # Healing
//
// The library forgets members that were dead for half a minute. So every member
// joins, every few seconds, the addresses that it was told (Know) and hears
// nothing of; a partition of any length heals by itself.
package gossip
