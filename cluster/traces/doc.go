// Package traces makes a trace of each task, by OpenTelemetry: a span for the task from its creation to its
// end, and beneath it one for each time that it waited and for each attempt.
//
// Spans are made from the history that the log writes, so Apply knows nothing of them: every server follows
// it, and the leader alone sends what has ended. Ids follow from cluster, task and attempt (noun.Spans), so
// that the claim of an attempt can tell the id of a span which is sent later, and a span that a new leader sends
// once more is the same one.
//
// A span holds names, numbers, states and vigil's own words for why an attempt ended: no title, text, note,
// result or reason of an agent.
package traces
