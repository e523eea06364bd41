// Package stepped makes the wall clock of the program that imports it wrong: see package clock, whose Build adds the
// import. A machine for which it has no assembly does not build.
package stepped
