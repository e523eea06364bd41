//go:build race && linux

package incidents

func init() { tooSlow = "the race detector slows a stand of real processes too much" }
