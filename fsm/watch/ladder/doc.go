// Package ladder is the ladder for stuck agents.
//
//	nudge --2m--> wake --5m--> interrupt --1m--> restart --5m--> escalate
//
// An agent whose verdict is stalled, deaf or unresponsive goes up this ladder (StepLadder),
// each rung after the deadline of the one before, and back to its foot with the next word
// that it says. Climb tells where it stands, MayBeStuck and MayBeDeaf whom to look at.
package ladder
