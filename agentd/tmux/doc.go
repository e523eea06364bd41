// Package tmux runs an agent in a terminal of its own that people can look into:
// a private tmux server per life, inside the tree of that life.
//
// The shim starts everything. Open asks it for a tmux server in the foreground
// (tmux -D) with a socket in the life's own folder and a configuration that holds the
// session and its one program, and for a client that makes the server read it. So
// server and program carry the marks of the life, run as the agent's user and die
// with the shim. A tmux server may tell its clients to run programs, and this one
// belongs to the agent: no command of tmux is ever run with more rights than the
// agent has.
//
// The program is executed directly: neither a shell nor the syntax of tmux sees its
// arguments. When it ends, a hook of tmux writes the exit status into a fifo and the
// pane stays until that was read; then the server goes. What the program prints
// goes through another fifo, all that tmux has read of it. What the kernel has not handed to
// tmux yet when the program ends is lost: docs/decisions/agentd.md#the-last-line-of-a-terminal-may-be-lost.
// The two lines of shell that write to the fifos are constants.
//
// What stays the shim's: to stop, freeze and bury the tree.
//   - SIGTERM belongs to the process group of Session.PID (the pane has a session of
//     its own), never to the tmux server, which would hang up on the agent.
//   - SIGSTOP must reach the server (Session.Server) before anything else: tmux
//     answers a stopped pane with SIGCONT.
package tmux
