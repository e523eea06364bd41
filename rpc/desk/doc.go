// Package desk serves what one person at a desk wants to see at a glance, live: how the fleet is, what waits
// for a human, and what happens meanwhile. It only looks: it writes no entry of the log, not even for a
// read, and shares one look at the state among all who ask for the same.
package desk
