// Package door is the port of one vigil server: gRPC and HTTP/1.1 on one listener, and
// everything that happens to a call before a service gets it. It knows the names of the
// calls and no call itself; services are registered with it, and it never names one.
//
//	d, err := door.Open(config)
//	vigilv1.RegisterFleetServer(d.GRPC(), fleet)
//	err = d.Run(ctx)
//
//	listen.go, limits.go    one listener for both protocols, and how much strangers may hold
//	handshake.go            TLS, so many handshakes at once
//	guard.go, own.go        who calls, and whether they may; scope.go: which room a request is about
//	callers.go, hold.go     the same for calls over HTTP, and for those that hang on this server
//	denials.go              refusals are counted and written to a file of this server
//	shares.go, bucket.go    how much of this server one identity may use
//	httpserver.go           what is not gRPC; foreign_pages.go: what keeps web pages of others out
//	gateway.go              HTTP/JSON as calls of the same services
//	observe.go, metrics.go  the outer interceptor: counts, access lines, errors, panics
//	forward.go, methods.go  the inner one: served here or sent to the leader, by the nature of the call
//	peers.go, reach.go      connections to other servers, and whether their APIs answer
//	stints.go, alone.go     who leads as this server sees it, and when it has known nobody for long
//	signpost.go, said.go    headers: where the servers are; how long ago a word was said
package door
