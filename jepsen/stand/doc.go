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
// Packets of one machine are dropped on the machine itself with nftables (Cut):
// everything, one direction, one protocol or one port, or some percent of them. Those
// between certain machines are dropped on the bridge (CutLinks), all at the same
// moment. Whoever wants a server's API or log reaches it through a proxy in the
// driver, one for each server and door, which tells machines apart by their address:
// there, bytes are held up and delayed, and connections broken, within microseconds
// (Wires), so that a fault can hit an order or a vote on its way.
//
// # Servers
//
// A server runs its own program, which may be of another build (StartWith), and one
// that was removed from its cluster can be emptied and taken in again (Empty). Spares
// are servers that are no members to begin with.
//
// # Identities
//
// The first server founds the cluster (`vigil server init`); everybody else joins by a token of one use, as
// does a server that was emptied, when it is started. Whoever runs the stand is the admin that founding has
// logged in (TLS, CLI). With Config.Insecure all speak in clear.
//
// It needs root, ip (iproute2) and nft (nftables): see Missing.
package stand
