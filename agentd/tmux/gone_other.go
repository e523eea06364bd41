//go:build !linux

package tmux

// whenGone would call fn once the process has ended; here only tmux knows.
func whenGone(int, func()) (stop func()) { return func() {} }
