// Package incidents replays failures that fleets of agents had elsewhere, one test
// for each, on real machines: three servers and three hosts of a stand. A test is
// named after its row in the catalogue of incidents and says what was given, what
// happened, and what vigil does instead.
//
// The tests look from outside: at what the public client, HTTP and the command line
// answer, and at the ledger that the agents keep themselves. After every test that
// ledger is judged by the laws, whatever the test was about.
//
//	go test ./jepsen/incidents -v
//	go test ./jepsen/incidents -run I57 -v -vigil PROGRAM -keep
//
// Tests share a stand, one after the other; each has a room of its own and leaves
// everything healed. When no rows are chosen, two programs with a stand each make one
// half, side by side. It needs root, ip and nft; otherwise, with -short and
// under the race detector everything is skipped.
package incidents
