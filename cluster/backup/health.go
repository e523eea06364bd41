package backup

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// health is what a Keeper tells people of itself. It is safe for concurrent use: a target that hangs holds up Run, and
// not whoever asks.
type health struct {
	mu    sync.Mutex
	wrong error     // of the last look; nil: it went well
	since time.Time // monotonic: the newest good backup was made, or it was first looked for; zero: this server makes none
}

// idle says that this server has none to make.
func (h *health) idle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrong, h.since = nil, time.Time{}
}

// looks says that a look begins.
func (h *health) looks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		h.since = time.Now()
	}
}

// good says how old the newest good backup is; a clock that was set back makes none younger than now.
func (h *health) good(age time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = time.Now().Add(-max(age, 0))
}

// ended says how a look ended.
func (h *health) ended(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrong = err
}

// Warning says why there may be no backup when one is needed, in words for people: the error of the last look, and that
// there has been no good one for twice the time and what the servers wait for each other. Empty: all is well. Anybody
// may call it at any time.
func (k *Keeper) Warning() string {
	h := &k.health
	h.mu.Lock()
	defer h.mu.Unlock()
	var said []string
	if lack := time.Since(h.since); !h.since.IsZero() && lack > k.step() {
		said = append(said, fmt.Sprintf("there has been no good one for %v", lack.Round(k.look())))
	}
	if h.wrong != nil {
		said = append(said, h.wrong.Error())
	}
	return strings.Join(said, "; ")
}
