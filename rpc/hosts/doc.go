// Package hosts serves hosts, and people who ask about them and about what runs on them.
//
//	service             what agentd says: facts, which are never refused for their words
//	stream, streams     the stream that a host holds to a server: its orders, keys of gossip, requests
//	logs, relay         output and terminals of agents, through whichever server holds the host's stream
//	desk                what people want of hosts; terminal, nudge: what they do at terminals
//
// What is typed at a terminal is in no log: it is typed at most once, and who cannot know says so.
package hosts
