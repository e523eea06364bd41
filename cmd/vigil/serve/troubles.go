package serve

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// listenAgain is the time between two attempts to listen at an address that somebody else has, or that this machine
// does not have yet.
const listenAgain = 5 * time.Second

// troubles is what of agentd does not work at the moment, beside its agents: they matter more, so it is told and
// tried again, and ends nothing. It is safe for concurrent use.
type troubles struct {
	log hclog.Logger

	mu  sync.Mutex
	all map[string]string // by what it is about
}

// set notes what is wrong with something, once in the log; an empty text: nothing any more.
func (t *troubles) set(what, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.all[what]
	switch {
	case text == before:
	case text == "":
		delete(t.all, what)
		t.log.Info("works now", "what", what)
	default:
		t.all[what] = text
		t.log.Warn(text)
	}
}

// list gives all of them, in an order that stays.
func (t *troubles) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Values(t.all))
}
