//go:build race && linux

package hostfaults

func init() { tooSlow = "the race detector slows a stand of real processes too much" }
