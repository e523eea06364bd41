// Command vigil is the whole of vigil in one binary: the server, the daemon of a
// worker host, a fleet to try it out, and the command line of people and agents.
//
// It is the only place with flags, files, signals and exit codes. Everything
// starts in run, which takes all of the outside world as arguments.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict, 5 no
// leader or no server, 6 time-out, 7 superseded, 78 a log record that this version
// does not know, 128+n ended by signal n.
package main
