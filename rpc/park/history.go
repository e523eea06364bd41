package park

import "sync"

// History tells everybody who follows the events that there are more. A watch reads
// at its own pace; one that is slow holds nobody up. Beats write no event, so they
// wake nobody. Safe for concurrent use.
type History struct {
	mu    sync.Mutex
	last  uint64
	grown chan struct{} // closed when last changes
}

func newHistory() *History { return &History{grown: make(chan struct{})} }

// applied is called after every entry with the newest event.
func (h *History) applied(last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last == h.last {
		return
	}
	h.last = last
	close(h.grown)
	h.grown = make(chan struct{})
}

// Beyond gives a channel that is closed when there is an event that is newer than
// those applied now. Take it before reading the state.
func (h *History) Beyond() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.grown
}
