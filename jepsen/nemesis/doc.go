// Package nemesis does to a stand what the world does to clusters: it kills and
// stops servers, cuts, slows and floods their links, fills their disks, turns their
// clocks, changes who is a member, upgrades builds, and does the like to hosts.
//
// A Kind is one way to do harm. Its Strike lets one fault loose, waits, undoes it and
// says whom it touched. Run draws kinds by seed and weight, in several lanes at the
// same time, and records a history.Fault for each.
//
// # Lanes
//
//	servers       servers and the links between them, one fault at a time
//	disks         disks of servers
//	clocks        wall clocks of servers and hosts
//	host          hosts and what runs on them; every host has a lane of its own
//	dependencies  what agents depend on
//	workers       agents without a host, in processes of their own
//	hostile-agent what an agent tries that has only the socket of its life: see package hostile
//	hostile-host  what a host with its own certificate tries, and a stranger
//	alone         what needs everything else to be quiet: outages of all servers
//
// Kinds that take a server away (Takes) never strike at the same time as another one
// that does, so that a majority of servers is unharmed unless a kind of lane alone
// says otherwise.
//
// # To add a kind
//
// Write its function and put it into the list of its group, which groups in kinds.go
// names. Strike must leave everything healed also when its context ends: waits end at
// once then (Field.Pause), and what undoes the fault does not use that context. What
// must be undone although a Strike failed goes into healers in kinds.go.
package nemesis
