// Package hearing is what one server hears of the hosts and of the other servers. Hearing makes
// its view of each host from the order streams that it holds and from gossip; Contacts tells a
// leader which servers it cannot reach, so that what they say of hosts does not count.
//
// Both judge by the moments that they are given and start nothing. Whether a host is in doubt
// is decided from the views of all servers, in the state.
package hearing
