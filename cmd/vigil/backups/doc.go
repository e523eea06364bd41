// Package backups is the command line about the backups that servers make by themselves: what there is,
// whether it is whole, and how to go back to it. It reads where they are from the configuration of a
// server, or from flags, and needs a cluster only to restore into it.
package backups
