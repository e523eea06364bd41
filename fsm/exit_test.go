package fsm

import "testing"

// What ended a life is said with its reason: that a signal did it says nothing of why.
func TestExitSaysWhy(t *testing.T) {
	for _, c := range []struct {
		x    Exit
		want string
	}{
		{Exit{Kind: ExitStartFailed, Reason: "no such program", Code: -1}, "could not be started: no such program"},
		{Exit{Kind: ExitTimedOut, Reason: "turn limit of 5m0s", Signal: "killed"}, "turn limit of 5m0s, ended by signal: killed"},
		{Exit{Kind: ExitOrdered, Reason: "stopped by ann", Signal: "terminated"}, "stopped by ann, ended by signal: terminated"},
		{Exit{Kind: ExitOrdered, Reason: "stopped by ann"}, "stopped by ann"},
		{Exit{Kind: ExitCrash, Reason: "out of memory", Signal: "killed"}, "ended by signal: killed, out of memory"},
		{Exit{Kind: ExitCrash, Signal: "segmentation fault"}, "ended by signal: segmentation fault"},
		{Exit{Kind: ExitCrash, Reason: "disk full", Code: 3}, "exited with code 3, disk full"},
		{Exit{Kind: ExitCrash, Code: 3}, "exited with code 3"},
		{Exit{Kind: ExitClean}, "exited with code 0"},
	} {
		if got := c.x.sentence(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.x, got, c.want)
		}
	}
}
