package noun

import (
	"strings"
	"testing"
)

// What is said of things that there are not names them and the command that shows what there is.
func TestN18AbsentThingsAreNamedWithARemedy(t *testing.T) {
	for text, want := range map[string]string{
		AbsentRoom("web"):          `no room "web"; ` + "`vigil room list`",
		AbsentAgent("web/builder"): `no agent "web/builder"; ` + "`vigil agent list`",
		AbsentTask(7):              "no task 7, or it ended so long ago",
		AbsentEscalation(7):        "no escalation 7, or it was closed so long ago",
		AbsentServer("s9"):         `no server "s9" in the cluster; ` + "`vigil server list`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	if long := AbsentRoom(strings.Repeat("x", 4000)); len(long) > 250 {
		t.Errorf("a name of 4000 bytes makes a text of %d", len(long))
	}
}
