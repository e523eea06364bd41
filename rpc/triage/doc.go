// Package triage reads what triage agents answer, at the door: the state machine gets a decision
// as fields of a record and parses nothing.
package triage
