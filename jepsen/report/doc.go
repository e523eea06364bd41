// Package report writes what a run has shown for people: report.html, which says first
// whether the laws were kept and then everything that a stranger needs to believe or
// to doubt it, summary.txt, which says the same in a screen of text, and verdict.json
// for programs.
//
// The page is one file without anything from elsewhere. It shows throughput and
// latency over time with the faults beneath, the lives of the agents, what is broken
// with its evidence, and every check with its numbers. Pages of searched histories are
// beside it in timelines/, and ledgers and logs where the run has put them.
//
// # Files
//
//	report.go   Write: the folder
//	view.go     the numbers, as the page shows them
//	tables.go   operations, faults and checks as rows
//	chart.go    throughput, latency and the lanes of faults
//	lives.go    the lives of agents
//	findings.go what is broken, with evidence
//	summary.go  summary.txt and verdict.json
//	page.html, style.css, script.js
package report
