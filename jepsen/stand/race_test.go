//go:build linux && race

package stand

func init() { tooSlow = "a stand is not driven by a program that looks for races" }
