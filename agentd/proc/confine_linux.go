package proc

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// confine takes from what the calling thread will fork every way to gain rights that its account
// does not have: set-user-id programs and file capabilities give none (no_new_privs), and no
// capability can be had any more, nor is one handed on. The thread keeps its own until it ends, and
// nothing gives back what was taken, so it must be locked and never be unlocked again.
func confine() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil &&
		!errors.Is(err, unix.EINVAL) { // before Linux 4.3 there are none
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EPERM):
			// Not root: then no_new_privs alone keeps them away.
			return nil
		case errors.Is(err, unix.EINVAL): // the kernel knows no more
			return disinherit()
		case err != nil:
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
}

// disinherit empties the set of capabilities that programs may inherit.
func disinherit() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	if !slices.ContainsFunc(sets[:], func(s unix.CapUserData) bool { return s.Inheritable != 0 }) {
		return nil
	}
	for i := range sets {
		sets[i].Inheritable = 0
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("clear inheritable capabilities: %w", err)
	}
	return nil
}

// Confined runs do on a thread of its own. Processes that do starts, and all that these start, never
// gain a right that their account does not have. A process that is to get a signal when its parent
// dies gets it when do returns.
func Confined(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := confine()
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}
