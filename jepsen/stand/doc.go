// Package stand builds machines out of namespaces on one Linux machine and runs the
// real product on them: servers and hosts, each with a network, a process table and
// an address of its own, joined by a bridge. It can cut their wires, kill and stop
// what runs on them, and starts them again.
//
// Everything is inside the network namespace of the driver (see Isolate) and of the
// machines (command box), so that nothing has a name outside of it and the kernel
// takes all of it away when the driver dies, however it dies. Files are in one
// folder.
//
// # Wires
//
// Packets are dropped on the machine itself with nftables (Cut): everything, one
// direction, one protocol or one port. Agents and agentd reach the servers through
// proxies in the driver, one for each server, which tell machines apart by their
// address: there, bytes are held up, and connections broken, within microseconds
// (Wires), so that a fault can hit an order on its way.
//
// It needs root, ip (iproute2) and nft (nftables): see Missing.
package stand
