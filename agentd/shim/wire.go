package shim

import (
	"time"

	"vigil/agentd/local"
)

// request is one line from agentd to a shim. Unknown fields are ignored.
type request struct {
	// Acknowledge is when an acknowledged fence beat was sent, by CLOCK_BOOTTIME; 0:
	// not said.
	Acknowledge time.Duration `json:",omitempty"`
	Stop        *stopRequest  `json:",omitempty"`
	// Terminal is answered on the same connection, and by no other word of the shim.
	Terminal *TerminalRequest `json:",omitempty"`
}

type stopRequest struct {
	Grace  time.Duration // 0: kill at once
	Reason string
}

// status is one line from a shim to agentd, at the beginning and at every change.
type status struct {
	Version  int
	Frozen   bool
	Stopping bool
	Stuck    string // why the life is not over although it was killed; empty: it is not so
	Exit     *Exit  `json:",omitempty"` // how the life ended, when that cannot be recorded
}

// ready is the one line that a new shim prints: it has started the program, or it
// never will.
type ready struct {
	Started *Started `json:",omitempty"`
	Exit    *Exit    `json:",omitempty"`
}

// socketPath is where the socket of a folder can be dialed: a path through the
// open folder is short, whatever the folder's is.
func socketPath(folder string, fd uintptr) string {
	return local.Through(folder, fd) + "/" + SocketFile
}
