// Package notify brings notices about escalations out of the cluster: to a web address
// (Webhook) or to a program on the server (Command). What a notice says is made elsewhere;
// here it is bytes with an id. Only the leader uses it.
//
// Errors are fixed words without addresses, secrets or output, since they are shown and
// replicated. Nothing is tried again here: whoever calls does, with the same id, so that
// a notice arrives at least once.
package notify
