// Package depend is what the agents of a stand depend on: a service that a role needs for its
// tasks, as a model or a database would be. It is a file for each role in the folder of the
// ledger. While the file is there the service is down, and its words say what that does to a
// task: see command ticker.
package depend
