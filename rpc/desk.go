package rpc

import "vigil/rpc/base"

// desk serves what people and their tools ask about hosts and what runs on them: their part of the calls of
// Fleet. Safe for concurrent use.
type desk struct {
	*base.Core
	logs   *logRelay
	nudges nudges
}

// newDesk serves from the streams that hosts hold to this server.
func newDesk(c *base.Core, streams *hosts) *desk {
	return &desk{Core: c, logs: &logRelay{c, streams}}
}
