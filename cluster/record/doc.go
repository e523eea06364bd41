// Package record is the form of the log: it turns entries of the state machine into bytes and
// back. log.proto is its specification, for people and for tools that read a log. No code is
// generated from it: one description of each message serves both directions, and straight to
// the types of the state machine.
//
//	lists   servers, rooms, words, hosts, watch: a command, its number, its fields
//	entry   what stands around the commands: stamp, beats, requests
//	wire    the format of protobuf, one description of a message for both directions
//
// What this package writes must be readable for ever. Golden files hold the bytes of every
// command and of every field that was added later; a number is never used twice, a type never
// changed. A record that this version does not know is ErrUnknown, never skipped.
//
// Functions are safe for concurrent use; an Encoder belongs to one goroutine.
package record
