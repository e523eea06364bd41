// Package terminal holds the commands about the terminals of agents: attach to one, look at one, type a line
// into one. A person sits at a terminal by the servers (seat), or on the agent's own host without any (here).
// Of what an agent draws only what package term lets through reaches the person's terminal.
package terminal
