// Package table keeps values by dense ids so that a snapshot of all of them costs nothing: a
// copy shares every page, and a page is copied when it is next written to. It also keeps the
// books of what the values cost in memory. It knows nothing of what it holds.
package table
