// Package backup makes backups of the whole state by itself: a schedule (Keeper), places for them
// (Dir, S3), their encryption with keys of the user's, a check of each, and how long they are kept.
//
// Every server with the same configuration runs a Keeper. They agree without speaking to each other, by
// what lies in the target: whoever is first in rank makes the next backup once the newest good one is
// old enough, and the others follow late, when it has not. Two that make one at the same time do no harm.
//
// Before a state is stored it is restored in memory and compared; afterwards the bytes are read back
// from where they went and their SHA-256 is compared with the one in the name. What is in a target is
// other people's: only names of the own form and cluster count, and only such are ever deleted.
//
// A Keeper is run once; targets are safe for concurrent use.
package backup
