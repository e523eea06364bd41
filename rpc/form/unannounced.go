package form

// Unannounced begins the warnings of a status about escalations of which nobody is told.
const Unannounced = "Escalations are not announced"
