// Package boxwords is what the driver of a stand and the first process of each of
// its machines say to each other, one JSON value a line.
package boxwords
