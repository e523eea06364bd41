package agent

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// groupPause is between two looks at a group that has its grace.
const groupPause = 20 * time.Millisecond

// group is a program and, where it leads a process group of its own, what it has started. Shells do not pass a signal
// on: a tool that one runs would work on beside its successor.
type group struct {
	cmd  *exec.Cmd
	own  bool             // it leads a process group
	told bool             // to end
	kill <-chan time.Time // the grace is over
	dead bool             // all were killed
}

// signal passes a signal on. Who should get it may have ended meanwhile.
func (g *group) signal(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok && g.own {
		g.told = g.told || s == syscall.SIGTERM
		signalGroup(g.cmd.Process.Pid, s)
		return
	}
	_ = g.cmd.Process.Signal(sig)
}

// stop asks all to end, and gives them so long.
func (g *group) stop(grace time.Duration) {
	g.signal(syscall.SIGTERM)
	g.kill = time.After(grace)
}

// murder kills all.
func (g *group) murder() {
	g.dead = true
	g.signal(syscall.SIGKILL)
}

// end waits, after the end of the leader, until the others have ended or their grace is over, and kills them then.
// What a program leaves behind that was not told to end goes on.
func (g *group) end(grace time.Duration) {
	if !g.told || g.dead {
		return
	}
	if g.kill == nil {
		g.kill = time.After(grace)
	}
	for signalGroup(g.cmd.Process.Pid, 0) {
		select {
		case <-g.kill:
			g.murder()
			return
		case <-time.After(groupPause):
		}
	}
}
