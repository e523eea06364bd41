//go:build unix && !linux

package agentd

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootClock reads CLOCK_MONOTONIC, which on the BSDs and macOS is what comes
// nearest to a clock that runs through suspend.
func bootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("read CLOCK_MONOTONIC: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
