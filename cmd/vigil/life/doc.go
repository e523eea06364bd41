// Package life finds out as which life of which agent a command speaks: by its environment, by
// flags, or by what an earlier command has kept of a life that was begun by hand. It also knows
// the process whose life that is, and notices its end.
package life
