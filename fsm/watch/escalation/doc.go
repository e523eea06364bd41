// Package escalation is what needs a human.
//
//	OPEN --AckEscalation--> ACKNOWLEDGED --CloseEscalation--> CLOSED --too many closed ones--> gone
//	OPEN --CloseEscalation--> CLOSED --it comes back within the cool-down--> OPEN
//
// There is at most one escalation about each thing. It is announced when it opens, and when it
// happens again after the cool-down while nobody has said a word: a notice is pending until every
// notifier of the leader has delivered it or has given up (NoteNotice). Lasts tells whether what it
// is about is still so.
package escalation
