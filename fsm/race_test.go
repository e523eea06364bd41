//go:build race

package fsm

func init() { underRace = true }
