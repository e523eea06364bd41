// Package due is the table of deadlines: what is due, of what, since when, for how long, what holds
// its clock, and what happens then. A row is computed from the fields of a state whenever somebody
// asks, and never stored. Row.At is the only formula: it arms timers, is what Check compares them
// with, answers people, and its span without excuses and absence feeds the verdicts.
//
// Who produces a row declares its kind beside it, so this package names neither the core nor a
// feature.
package due
