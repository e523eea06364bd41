// Package wire carries what servers say to each other over the port of the log: raft's requests, and
// questions of one line. It knows connections, certificates and raft's form of requests, and nothing of
// the state.
//
// A connection is TCP, with an Identity mutual TLS on it, then one line: a greeting with the id of
// the cluster, behind which raft's requests follow, or a question, behind which the answer follows
// and the end.
//
// With an Identity each end knows who the other one is:
//
//   - Who dials says whom it wants to reach, and hangs up on anybody else.
//   - Who is dialed takes any server of the cluster that is not known to be revoked. It does not ask
//     for membership: a server that was away does not know the newest members, and one of them may be its
//     only source of the log.
//   - Each request names its sender, and must name the one at the other end. Raft's transport decodes
//     requests and does not say by which connection they came, so every connection that comes in is
//     served by a raft.NetworkTransport of its own.
//
// What is revoked while it is connected is cut off within a second.
package wire
