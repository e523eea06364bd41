package sim

import (
	"testing"
	"time"
)

// The checkers can fail: each defect that is put into the simulation on purpose is
// noticed by the law that it breaks.
func TestCheckersNoticeDefects(t *testing.T) {
	if raceEnabled {
		t.Skip("it takes minutes, and nothing runs here that does not run in the week")
	}
	for _, d := range []struct {
		name   string
		mutant mutant
		law    string
	}{
		{"a host forks before its acceptance is committed", skipsAccept, "L7"},
		{"the dead-man's switch never freezes", neverFreezes, "L7"},
		{"a completion is repeated under a new number", completesTwice, "L8"},
		{"a host ignores stop orders", ignoresStops, "L9"},
		{"superseded lives are told that they are current", liesAboutFencing, "L6"},
		{"retries carry no request id", forgetsRequestIDs, "L8"},
		{"beats are swallowed and acknowledged", losesBeats, "L10"},
		{"crashes are reported as ends on purpose", callsCrashesOrdered, "L11"},
		{"hosts ignore start orders", ignoresStarts, "L3"},
		{"an acknowledged task is not there", losesTasks, "L8"},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			length := 8 * time.Hour
			if testing.Short() {
				length = 3 * time.Hour
			}
			found := simulate(t, config{seed: 7, length: length, mutant: d.mutant, until: d.law}, false)
			for _, b := range found {
				if b.law == d.law {
					t.Log(b.law, b.text)
					return
				}
			}
			t.Errorf("no breach of %s was noticed: %v", d.law, found)
		})
	}
}
