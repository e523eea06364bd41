package shim

import "time"

// alarm rings once after it was set. Where the system can (Linux) it goes by
// CLOCK_BOOTTIME: one that was due while the machine was suspended rings as soon as the
// machine runs again, and the switch is judged. Timers of the runtime stand still
// meanwhile and would go on with what was left. It is not safe for concurrent use.
type alarm struct {
	rings chan struct{}
	set   func(d time.Duration) // d is positive
	stop  func()
}

func newAlarm() *alarm {
	a := &alarm{rings: make(chan struct{}, 1)}
	if a.byBootTime() {
		return a
	}
	timer := time.AfterFunc(far, func() { signalOne(a.rings) })
	a.set = func(d time.Duration) { timer.Reset(d) }
	a.stop = func() { timer.Stop() }
	return a
}
