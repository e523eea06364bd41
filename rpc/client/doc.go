// Package client is the public Go client of vigil.
//
// A [Client] is a gRPC connection to a whole cluster. It implements
// [google.golang.org/grpc.ClientConnInterface], so every generated stub works on
// it:
//
//	c, err := client.Open(client.Config{Addrs: []string{"a:7420", "b:7420", "c:7420"}})
//	fleet := vigilv1.NewFleetClient(c)
//	task, err := fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: "web", Role: "builder", Title: "build"})
//
// # What it does for every call
//
//   - It finds the leader and follows it: from the header vigil-leader of any
//     answer, from the details of an error, otherwise by trying the addresses in
//     turn. A server that has stopped answering, whether killed, frozen or cut
//     off without a word, is left within about a second.
//   - It learns where the servers are, also new ones: every answer tells them in the header
//     vigil-servers. When all that it was told of are gone it goes on with the others, and
//     reads Config.File again. Config.Addrs are never forgotten.
//   - It fills in the write id of a request that has one and left it empty, and
//     repeats the call with the same id until it is answered, for
//     Config.RetryFor (5 min) or until the context ends. The cluster gives the
//     first answer again, so a write happens once however often it is sent.
//   - It waits between attempts, from 20 ms on, longer the longer it lasts, with
//     jitter.
//
// Beat, Wait and streams are never repeated: whoever calls them decides. A call
// whose repetition could do harm (adding a server, for instance) is repeated only
// after an answer which proves that nothing was done.
//
// # What stays
//
// From version 1 on, programs that use this package, the messages and clients of vigil/rpc/gen/vigilv1 and the
// codes of errors go on to compile and to mean the same within one major version; messages get new fields, and services
// new calls. Other packages of the module are for vigil alone. It compiles for every platform that Go has with TCP;
// no cgo is needed.
//
// # Errors
//
// Every error of a call is an [*Error]. Compare with the sentinel values:
//
//	if errors.Is(err, client.ErrConflict) { ... }
//
// When a context ends, [errors.Is] finds both the context's error and the last
// reason why there was no answer, for instance ErrNoLeader; where an attempt before
// it may have been carried out, ErrUnknownOutcome. After that, ErrTimeout,
// ErrUnavailable and ErrTooOld it is not known whether the write was done.
//
// # Agents
//
// [Join] makes the caller an agent of a room. The [Worker] that it returns beats
// until it leaves, waits for tasks and hands them out as [Job]. When another life
// of the same agent has begun, its context ends with ErrSuperseded: stop working.
// [Work] is the whole loop in one call.
//
// # Concurrency
//
// Everything here may be used by many goroutines at once unless its comment says
// otherwise. A request may be shared between calls; it is never changed.
package client
