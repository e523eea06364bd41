package fsm

import (
	"testing"

	"vigil/fsm/noun"
)

// What ended a life is said with its reason: that a signal did it says nothing of why.
func TestExitSaysWhy(t *testing.T) {
	for _, c := range []struct {
		x    noun.Exit
		want string
	}{
		{noun.Exit{Kind: noun.ExitStartFailed, Reason: "no such program", Code: -1},
			"could not be started: no such program"},
		{noun.Exit{Kind: noun.ExitTimedOut, Reason: "turn limit of 5m0s", Signal: "killed"},
			"turn limit of 5m0s, ended by signal: killed"},
		{noun.Exit{Kind: noun.ExitOrdered, Reason: "stopped by ann", Signal: "terminated"},
			"stopped by ann, ended by signal: terminated"},
		{noun.Exit{Kind: noun.ExitOrdered, Reason: "stopped by ann"}, "stopped by ann"},
		{noun.Exit{Kind: noun.ExitCrash, Reason: "out of memory", Signal: "killed"},
			"ended by signal: killed, out of memory"},
		{noun.Exit{Kind: noun.ExitCrash, Signal: "segmentation fault"}, "ended by signal: segmentation fault"},
		{noun.Exit{Kind: noun.ExitCrash, Reason: "disk full", Code: 3}, "exited with code 3, disk full"},
		{noun.Exit{Kind: noun.ExitCrash, Code: 3}, "exited with code 3"},
		{noun.Exit{Kind: noun.ExitClean}, "exited with code 0"},
	} {
		if got := c.x.Sentence(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.x, got, c.want)
		}
	}
}
