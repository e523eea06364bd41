// Package local is the local door of a life: the way from an agent to the servers that
// needs no network of the agent's own.
//
//	agent --> socket of the life --> its shim --> socket of agentd --> agentd --> a server
//
// # Two ends
//
// A Door is the shim's end. It serves one Unix socket to the processes of one account, for
// as long as the life lasts, and copies bytes: it reads none of them. A Relay is agentd's
// end. It reads the calls, gRPC and JSON over HTTP alike, lets through what agents may call
// (see Method), and says to the servers for which life each was made.
//
// # Who speaks
//
// A shim says in a greeting for which life it speaks, and agentd believes it when the
// process is the shim of that life. Of what an agent sends only the headers in passed go
// on, so it cannot say for whom it speaks.
//
// # When agentd is away
//
// A Door that cannot reach agentd, and a Relay that cannot reach a server, answer every
// call at once with agentd_away. No call waits for either of them to come back.
//
// # Bounds
//
// Everything that comes from an agent is bounded: connections and calls under way, the
// bytes of a request, the time that a connection may be silent at its beginning, and the
// time that a request may take to arrive. Whoever opens more connections waits in the
// kernel.
package local
