// Package watchdog is `vigil watchdog`, and the verbs and words of rooms about the conversation watchdog: what
// it sees, what it has canceled, and how a room gets its own limits or comes back.
package watchdog
