package noun

import "errors"

// The coordinator's errors that are not outcomes: the command may not have
// reached the state machine at all. They are compared with errors.Is in every
// room; rpc/client has its own for users.
var (
	// ErrNotLeader says that nothing was proposed; ask the leader.
	ErrNotLeader = errors.New("not the leader")
	// ErrUnknownOutcome says that the entry was proposed and leadership was lost
	// before its commit was seen: it may or may not be in the log. Ask again with
	// the same request id.
	ErrUnknownOutcome = errors.New("outcome unknown: leadership lost before the commit was seen")
	// ErrStopping says that the server is shutting down and proposed nothing.
	ErrStopping = errors.New("server is stopping")
	// ErrOldServers says that a server of the cluster is of an older version and could
	// not read what would be written: nothing was proposed.
	ErrOldServers = errors.New("a server of the cluster is of an older version " +
		"that cannot read this; upgrade every server first")
	// ErrDiverged says that this server's state differs from the majority's; it
	// serves nothing until it is rebuilt.
	ErrDiverged = errors.New("state differs from the majority of servers")
)
