package noun

import (
	"fmt"
	"strings"
)

// Whoever names something that there is not is told so in the same words by commands, which change
// the state, and by those that read it.

// AbsentRoom is said of a room that there is not, and of which nobody knows that it was deleted.
func AbsentRoom(name string) string {
	return "there is no room " + Quote(name) + "; `vigil room list` shows the rooms, `vigil apply -f` creates one"
}

// AbsentAgent is said of an agent that there is not.
func AbsentAgent(name string) string {
	return "there is no agent " + Quote(name) + "; `vigil agent list` shows them, `vigil apply -f` declares them"
}

// AbsentTask is said of a task that there is not, or not any more.
func AbsentTask(id TaskID) string {
	return fmt.Sprintf("there is no task %d, or it ended so long ago that it was removed; "+
		"`vigil task list` shows what is there", id)
}

// AbsentEscalation is said of an escalation that there is not, or not any more.
func AbsentEscalation(id EscalationID) string {
	return fmt.Sprintf("there is no escalation %d, or it was closed so long ago that it was removed; "+
		"`vigil escalation list --all` shows what is there", id)
}

// AbsentServer is said of a server that is no member of the cluster.
func AbsentServer(id string) string {
	return "there is no server " + Quote(id) + " in the cluster; `vigil server list` shows them"
}

// Quote shows a value from outside, shortened.
func Quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return fmt.Sprintf("%q", s)
}
