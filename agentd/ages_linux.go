package agentd

import "golang.org/x/sys/unix"

// clockSynced tells whether a time service keeps the wall clock, as far as the kernel knows.
func clockSynced() bool {
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	return err == nil && t.Status&unix.STA_UNSYNC == 0
}
