// Package duty is what only the leader does: it looks at the state and orders
// what should happen. The state machine decides what must happen and checks every
// order again, so a plan can be stale, doubled or wrong without harm; a refused
// order is an everyday event.
//
// # Planners
//
// A planner is a pure function from *fsm.View to []fsm.Command. It reads no clock
// and no random source, and never changes what it is given. What is not in the
// state (which servers the leader cannot reach) is an argument.
//
//   - Starts places every agent for which a start is due on a host.
//   - Voids drops what servers said of hosts that the leader cannot reach.
//   - Suspects doubts hosts that the servers do not hear and trusts them again.
//   - Cancels takes start orders back from hosts that are in doubt.
//   - Silent warns of rooms in which nothing happens, and cancels them.
//   - Climbs takes the rungs of the ladder that are due for stuck agents.
//   - Surrenders gives up lives of fast roles on hosts of which nothing is heard.
//
// # Loop
//
// Duty.Run is one stint: it wakes when an entry has given a duty something to look
// at, and every 250 ms while a start is due that could not be ordered yet (start
// rate, no room). It plans under the read lock and submits outside of it.
//
//	Effects.Plan --> Wake --> plan under Read --> SubmitAll --> count outcomes
//	                  ^                                             |
//	                  +------------- more was due than fitted ------+
//
// The conversation watchdog runs beside it at its own pace: a first pass after the setting
// watchdog_start_delay, then one each watchdog_interval. A pass warns what is silent, waits
// for the grace and cancels what stayed silent. The ladder for stuck agents has a pace of its own
// too (ladder_interval): what a rung types follows when its record is committed.
//
// Escalations are announced beside it too: each notifier has a loop of its own that delivers
// what Notices of the state lists, one after the other, and has the outcome written. A notice
// whose outcome could not be written is delivered again, by this leader or the next, with the
// same id. When to try again is decided in the state, in cluster time.
package duty
