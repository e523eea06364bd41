package serve

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"vigil/agentd/proc"
)

// rebootingLimit bounds the question whether the machine goes down.
const rebootingLimit = 2 * time.Second

// goingDown gives what tells, once agentd is to end, whether everything here ends with it or soon: as a container does
// whose first process has started it, or when systemd takes the machine down.
func goingDown() func() bool {
	if proc.EndsContainer() {
		return func() bool { return true }
	}
	return rebooting
}

// rebooting tells whether systemd takes this machine down; false without systemd.
func rebooting() bool {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return false // another program starts services here
	}
	ctx, cancel := context.WithTimeout(context.Background(), rebootingLimit)
	defer cancel()
	// Its exit code says the same in fewer words.
	state, _ := exec.CommandContext(ctx, "systemctl", "is-system-running").Output()
	return strings.TrimSpace(string(state)) == "stopping"
}
