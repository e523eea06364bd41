// Package chain is the watchdog chain: overseers are agents that watch others and report their
// patrols, and vigil looks at them every overseer_interval and on events. A look is a timer of the
// state and is decided by the mechanical rule of package judge, or by a triage agent that is started
// for that one look; so no server and no agent can hang between a look that is due and its decision.
package chain
