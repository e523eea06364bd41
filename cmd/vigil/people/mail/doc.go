// Package mail is `vigil mail`: people and agents send mail to agents and follow what becomes of it; agents
// read and acknowledge theirs.
package mail
