package code

// Headers with which servers and clients tell each other what stands in no message.
const (
	HeaderForwarded = "vigil-forwarded" // the id of the server that forwarded a call
	HeaderRepeat    = "vigil-repeat"    // set when a call may have been made before
	HeaderSaid      = "vigil-said"      // for how many milliseconds a call is under way
	HeaderRelayed   = "vigil-relayed"   // set when a server asks its peers for a host's output
	HeaderWriteID   = "vigil-write-id"  // the write id of a call over HTTP, SESSION-SEQ
	HeaderTrace     = "traceparent"     // of who calls, as W3C writes it; also over HTTP
	HeaderClaim     = "vigil-claim"     // who has sent a call that a server sends on
	HeaderSource    = "vigil-source"    // the address that a call came from which a server sends on
	HeaderOnBehalf  = "vigil-on-behalf" // for which life a host speaks, ROOM/AGENT/INCARNATION
	HeaderWoken     = "vigil-woken"     // set when a waiter claims because a task came
	HeaderLeader    = "vigil-leader"    // API address of the leader
	HeaderServers   = "vigil-servers"   // API addresses of all servers, separated by commas
)
