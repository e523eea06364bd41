// Package park keeps calls that wait on this server until something happens in its
// replica: waits for tasks and for mail, streams of hosts that wait for orders, and
// watches of the history.
//
//	e := park.Open(reader, stop)
//	reader.Subscribe(e.Applied) // the one way in: after each entry, and after a restore
//	err := e.WaitForTask(ctx, seeker, limit)
//
// All of it rests on one rule. Who waits makes itself visible before it looks at the
// state; Applied comes after the entry is in the state. So of two that happen at the
// same time at least one sees the other, and no wake-up is lost. When the whole state
// was replaced (a restored backup, a snapshot that was sent) everybody is woken and
// looks anew.
//
//	tasks.go      waits for tasks: first come, first served in each role
//	matches.go    the leader's side: claims of waiters in the entries that make their tasks
//	quota.go      places of waits at the leader
//	turnstile.go  the leader's side: no more claims go into the log than there are tasks
//	gate.go       waits for a log index to be applied here
//	signals.go    wakes whoever waits at an agent or a host
//	history.go    wakes all watches
//	spell.go      how long one call waits, and when it looks although nothing woke it
package park
