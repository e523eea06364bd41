// Command teller tells the time to the tests of package clock: for each line on
// standard input one with the wall clock in nanoseconds since 1970, how much has
// passed since the start by the monotonic clock, and how much by the wall clock. With
// an argument it starts itself once more, with an empty environment, to do so.
package main
