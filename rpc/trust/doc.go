// Package trust is the public key infrastructure of a cluster: a root, an issuing key on each
// server, and a short-lived certificate for each server, host and user.
//
// A certificate names its holder by a URI, as SPIFFE does: spiffe://CLUSTER/server/ID, where CLUSTER
// is a random UUID that is made with the root. The chain is root, issuer, leaf.
//
// Wall clocks decide nothing between programs of vigil. A leaf carries the cluster time and the
// epoch in which it was issued and the generation of its holder, to be compared with the replicated
// state. The dates of X.509 are there for browsers and tools. [Roots.Verify] therefore looks at a chain as
// it was when its leaf began, and a leaf has the dates of its issuer, whatever the local clock says.
//
// No private key ever leaves the machine that made it, except the root's, which its operator may
// move away.
package trust
