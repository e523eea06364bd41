// Package check judges the record of a run: it reads what the workloads were
// answered, what the nemeses did, what the watchers saw and what the agents noted in
// their ledgers, and says which laws of ARCHITECTURE.md were kept. It needs no cluster and
// no network, so an old record can be judged again by newer checks.
//
// # Rules
//
// A check is a function in a file of its own. It never looks at the kind of a fault,
// only at the effects: which machine was touched, how, and when. What a check does
// not hold against the product because a fault explains it is counted as excused, and
// the count is part of the result. A check that found nothing to look at says so:
// that is not the same as a law that was kept, and neither is a search that ran out of
// time.
//
// # To add a check
//
// Write a function that takes a *trial and a *Result, and put it into the list in
// check.go with the law and the sentence that the report shows. It counts what it
// judged with judged, notes what is broken with found and what is excused with excuse.
// Its test breaks the law once and keeps it once.
package check
