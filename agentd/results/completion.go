package results

// Env names the folder in which an agent leaves what it could not deliver.
const Env = "VIGIL_SPOOL"

// Completion is a file NAME.json in the folder that Env names: the end of a
// task that its agent could not report because no server answered. Files are
// delivered in the order of their names, before the report of the agent's exit. A
// file appears by being renamed, all of it at once, and has mode 0600: it holds the
// token.
type Completion struct {
	Agent       string `json:"agent"`
	Incarnation uint64 `json:"incarnation"`
	Task        uint64 `json:"task"`
	Attempt     uint32 `json:"attempt"`
	Result      string `json:"result"`
	Token       string `json:"token"`
	// Traceparent is that of the attempt, for log lines; empty: nobody traces it.
	Traceparent string `json:"traceparent,omitempty"`
}
