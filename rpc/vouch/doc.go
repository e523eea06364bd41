// Package vouch says who calls and what that is worth, and gives out that by which one is known:
// certificates, tokens and users, and the ring of gossip.
//
//	identity, standing   a claim of a caller, weighed by what the state knows
//	service              join, log in, renew: a certificate counts once the state has noted it
//	tokens, users        who may join, and what people and programs may do
//	root, issuer         the root of the cluster, and keys of servers that sign
//	gossipkeys           the ring of keys of gossip
//
// The form of certificates is rpc/trust's; what a caller may do is judged by rpc/door.
package vouch
