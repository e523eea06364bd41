package form

// Words of warnings of a status that `vigil doctor` knows them by.
const (
	// Unannounced begins those about escalations of which nobody is told.
	Unannounced = "Escalations are not announced"
	// BackupsFail begins those about backups that a server cannot make.
	BackupsFail = "Backups fail on server"
)
