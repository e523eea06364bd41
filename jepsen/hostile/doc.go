// Package hostile tries what a cluster must refuse: as an agent with nothing but the socket of its life, as
// a host with a good certificate of its own, with used tokens and stolen keys, and as a stranger or a host at
// the port of the log.
//
// Every attempt has the codes with which it may be refused. A Tally counts the answers; one that is not among
// them, a success above all, is wrong and breaks a promise. That nobody answers, because something else is
// broken meanwhile, proves nothing and is only counted.
//
// What an agent tries runs within the agent (command ticker), on a task whose text says which Attack; its
// result is the Tally. The rest runs where package nemesis calls it.
package hostile
