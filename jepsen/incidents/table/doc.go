// Command table tries every row of the catalogue of incidents that has a test and
// writes what came out to a table in Markdown:
//
//	go run ./jepsen/incidents/table -out docs/incidents.md
//
// A row is tried by every test in the module whose name begins with it:
// TestI57PartitionedHostRejoins tries row I57. Rows without a test say why. The exit
// code is 1 when a row that can be tried did not pass, or when a row has neither a
// test nor a reason.
package main
