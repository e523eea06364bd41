// Package deadlines is the verb `deadlines` of agents and rooms: what is due, when, what holds the clock and
// what happens then.
package deadlines
