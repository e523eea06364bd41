// Package cli is what every command stands on: the outside world and the global flags of one
// run of the program (App), the connection to the servers, nouns and their verbs, the input
// that flags name, completion for shells, and the errors that decide about the exit code.
package cli
