// Package servers serves calls about the servers themselves.
//
//	service               settings, and what servers say of themselves and hear of hosts
//	status, leaderless    the whole cluster in one answer, with what people should know
//	health                how this server is; it needs no leader
//	members, removal      who belongs to the cluster
//	snapshots             backups of the whole state
//
// The replication is known by the interfaces of replication.go only.
package servers
