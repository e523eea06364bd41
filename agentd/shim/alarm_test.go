//go:build linux

package shim

import (
	"testing"
	"time"
)

// An alarm rings once for each time that it is set, not before, and not after it was
// stopped.
func TestAlarm(t *testing.T) {
	a := newAlarm()
	for range 3 {
		const d = 5 * time.Millisecond
		begin := BootClock()
		a.set(time.Hour)
		a.set(d)
		select {
		case <-a.rings:
		case <-time.After(patience):
			t.Fatal("it does not ring")
		}
		if passed := BootClock() - begin; passed < d {
			t.Errorf("it rang after %s", passed)
		}
	}
	a.set(time.Hour)
	a.stop()
	if len(a.rings) != 0 {
		t.Error("it rang again")
	}
}
