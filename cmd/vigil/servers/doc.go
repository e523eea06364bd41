// Package servers holds the commands about the servers of a cluster and what they keep: members,
// backups and settings.
package servers
