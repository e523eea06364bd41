// Package trust is who may speak to the cluster: tokens by which servers, hosts and users are let in,
// the generations of their certificates, users with their roles, API tokens, and the roots.
//
// What may be issued is decided here and nowhere else, when a record is applied: no token is used more
// often than it says, at any log index, and a generation never falls. A generation is a fencing token as
// an incarnation is. Keys, signatures and secrets are the business of others: the state holds hashes and
// certificates of roots, never a secret.
package trust
