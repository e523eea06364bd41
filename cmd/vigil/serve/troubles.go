package serve

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// listenAgain is the time between two attempts to listen at an address that somebody else has, or that this machine
// does not have yet.
const listenAgain = 5 * time.Second

// troubles is what of a daemon does not work at the moment, beside what it is for: that matters more, so it is told
// and tried again, and ends nothing. It is safe for concurrent use.
type troubles struct {
	log   hclog.Logger
	level hclog.Level // of what is told; 0: a warning

	mu  sync.Mutex
	all map[string]string // by what it is about
}

// set notes what is wrong with something, once in the log; an empty text: nothing any more.
func (t *troubles) set(what, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(what, text)
}

// only notes that these, each with its text, are all that is wrong.
func (t *troubles) only(now map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(t.all)) {
		t.note(what, now[what])
	}
	for _, what := range slices.Sorted(maps.Keys(now)) {
		t.note(what, now[what])
	}
}

// has tells whether something is wrong with it.
func (t *troubles) has(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[what] != ""
}

// note is set, for whoever holds mu.
func (t *troubles) note(what, text string) {
	before := t.all[what]
	switch {
	case text == before:
	case text == "":
		delete(t.all, what)
		t.log.Info("works now", "what", what)
	default:
		t.all[what] = text
		t.log.Log(cmp.Or(t.level, hclog.Warn), text)
	}
}

// list gives all of them, in an order that stays.
func (t *troubles) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Values(t.all))
}
