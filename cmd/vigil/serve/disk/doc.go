// Package disk holds the verbs of `vigil server` about the data directory of a server that does not run: what
// is in it, recovery when a majority is lost for good, another form of the log, passing over an entry that no
// version here can apply. It also says what a server that has ended for its data can do about it.
package disk
