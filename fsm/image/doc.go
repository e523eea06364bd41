// Package image writes what is replicated as a stream of blocks with checksums, and reads it
// again: the form of snapshots and backups, and what servers hash to compare their states. Equal
// values give equal bytes. It knows no type: who uses it hands over the list of types and of
// tables.
package image
