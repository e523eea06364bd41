// Package duty is what only the leader does: it looks at the state and orders
// what should happen. The state machine decides what must happen and checks every
// order again, so a plan can be stale, doubled or wrong without harm; a refused
// order is an everyday event.
//
// # Table
//
// The duties are one table (table.go). A row names itself, says what it is for, and has
//
//   - every: its pace, from the settings, which may change at any time;
//   - wake: the effect of an entry that has it look at once;
//   - plan: a pure function from *fsm.View, a budget of visits and orders, and the place where
//     the look before ended, to orders, the next place, and when to go on. It reads no clock and
//     no random source, and never changes what it is given. What is not in the state (which
//     servers the leader cannot reach) is fetched before, by ready;
//   - done: what must follow orders outside of the state once they are committed: to type at
//     terminals, or to log.
//
// A new duty is one row more, and its orders a word each in orderName.
//
// # Loop
//
// Duty.Run is one stint. One loop, the same for every row, gives each its looks. Looks of one
// duty never overlap; the loops run beside each other, since to write a plan and to type takes
// as long as it takes, and a start must not wait for it.
//
//	pace, or Effects --> Wake --> ready --> plan under Read --> SubmitAll --> done
//	                               ^                                           |
//	                               +--- not all was seen, or not all could be --+
//
// A pass is one look or several: a plan that has used up its budget goes on where it ended, and
// one that began in the middle goes on from the beginning. The read lock is held for the budget
// of one look at most, and for a twentieth of the time by one duty.
//
// Escalations are announced beside the table, since there the effect comes first and its record
// after: each notifier has a loop of its own that delivers what Notices of the state lists, one
// after the other, and has the outcome written. A notice whose outcome could not be written is
// delivered again, by this leader or the next, with the same id. When to try again is decided in
// the state, in cluster time.
package duty
