// Package form is about the forms of requests and answers, in both directions: Checks validates what comes
// in and says what is wrong with it and how to mend it; functions named after what they give (Task, Agent,
// Host) copy what goes out.
//
// Functions that take a View are called under the read lock. All are pure and safe for concurrent use.
package form
