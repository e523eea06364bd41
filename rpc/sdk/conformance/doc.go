// Package conformance is one table of what a client of vigil must do when servers misbehave, and the servers
// that do so by script: late, lost, repeated, superseded, full, half-open. The workers of all SDKs and of the Go
// client pass it; each is a small program that prints what it did as lines of JSON. All of it are tests.
//
// A language is a row of workers in conformance_test.go. Its program joins as web/builder at the
// servers that VIGIL_ADDR or VIGIL_SOCKET names, with attempts of 500 ms that are repeated for
// VIGIL_CONFORMANCE_RETRY seconds (300), and does by the text of each task:
//
//	quick     returns "done"
//	progress  says progress, returns "done"
//	long      sleeps 1500 ms, says progress, returns "done"
//	hold      prints {"did":"told","task":N,"cause":CODE} when it is told that nobody wants the result
//	stop      fails with an error of the language when it is told that nobody wants the result
//	retry     fails the attempt: another one may succeed, 3 s from now at the earliest
//	handoff   hands over to role tester, title and text "look at it", with the result "built"
//	fail      fails the task with an error of the language whose text is "no such file"
//
// It prints {"did":"handle","task":N} when a task begins, {"did":"end","code":CODE,"text":TEXT} at its own end (""
// after SIGTERM, or the code and the text of what has ended its life), and nothing else.
package conformance
