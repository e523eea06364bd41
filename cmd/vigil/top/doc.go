// Package top is `vigil top`: the fleet and what waits for a human, live in a terminal, with keys that answer.
// The model is pure: it gets messages and draws lines, and what it orders is done by a hand that tests
// replace. All that comes from the cluster passes through package term before it is drawn.
package top
