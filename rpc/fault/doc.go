// Package fault makes the errors that servers answer with: a stable code, a sentence, and the number
// to go on with. Handlers return an [Error], or an error of fsm or context; [Of] gives each its code,
// and [Error.Status] the form in which it crosses the wire.
package fault
