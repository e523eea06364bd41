package agentd

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"vigil/agentd/disk"
	"vigil/agentd/local"
)

// callers are the lives for which calls are passed on. It is safe for concurrent use.
type callers struct {
	mu    sync.Mutex
	all   map[disk.Life]caller
	begun resumed // tells of each life that comes in
}

// caller is one life.
type caller struct {
	agent   string // room/role or room/role.2
	process process
}

// add lets the calls of a life through, when they come from its shim.
func (c *callers) add(l *life, p process) {
	c.mu.Lock()
	c.all[l.who()] = caller{l.order.GetAgentName(), p}
	c.mu.Unlock()
	c.begun.tell()
}

func (c *callers) remove(w disk.Life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, w)
}

// behalf gives the life that a process may speak for, ROOM/AGENT/INCARNATION. An agent may
// call before this daemon has heard that its program runs, so a life that is not known is
// waited for until ctx ends.
func (c *callers) behalf(ctx context.Context, who local.Life, pid int) (string, error) {
	w := disk.Life{Agent: who.Agent, Incarnation: who.Incarnation}
	for {
		next := c.begun.next() // before the look
		c.mu.Lock()
		one, known := c.all[w]
		c.mu.Unlock()
		// An account may be shared by agents, so it proves nothing: the process does.
		if known {
			if shim := one.process.Started().Shim; shim == pid || pid == 0 {
				return one.agent + "/" + strconv.FormatUint(who.Incarnation, 10), nil
			} else if shim != 0 {
				return "", fmt.Errorf("process %d is not the shim of life %s", pid, w)
			}
		}
		select {
		case <-next:
		case <-ctx.Done():
			return "", fmt.Errorf("life %s is not known: %w", w, ctx.Err())
		}
	}
}
