package form

// Words of warnings of a status that `vigil doctor` knows them by.
const (
	// Unannounced begins those about escalations of which nobody is told.
	Unannounced = "Escalations are not announced"
	// BackupsFail begins those about backups that a server cannot make.
	BackupsFail = "Backups fail on server"
	// Behind ends those about servers that have much of the log to learn; they are of the package cluster.
	Behind = "log entries behind"
	// Forlorn is in those about hosts that know no majority of the servers.
	Forlorn = "without those it finds no other"
)
