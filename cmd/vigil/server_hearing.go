package main

import (
	"sync"
	"time"

	"vigil/fsm"
)

// hearing remembers when hosts were last heard on their streams to this server,
// beyond the end of a stream: a daemon that was killed closes it at once.
type hearing struct {
	state  interface{ Read(func(*fsm.State)) }
	stream func(fsm.HostID) (time.Duration, bool)

	mu   sync.Mutex
	last map[fsm.HostID]time.Time // of hosts that had a stream here
}

func newHearing(state interface{ Read(func(*fsm.State)) }, stream func(fsm.HostID) (time.Duration, bool)) *hearing {
	return &hearing{state: state, stream: stream, last: map[fsm.HostID]time.Time{}}
}

// silence tells how long hosts have said nothing here. A host whose stream has
// ended counts until it beats or registers again: then it lives, and its stream is
// on another server.
func (h *hearing) silence() map[fsm.HostID]time.Duration {
	beats := map[fsm.HostID]time.Duration{} // since the last one
	h.state.Read(func(st *fsm.State) {
		for host := range st.Hosts() {
			if host.State == fsm.HostReady || host.State == fsm.HostSuspect {
				beats[host.ID] = st.Settings().HostTTL - host.Until.Sub(st.Clock())
			}
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	out := map[fsm.HostID]time.Duration{}
	for id, beat := range beats {
		if silent, here := h.stream(id); here {
			h.last[id] = now.Add(-silent)
			out[id] = silent
			continue
		}
		if last, ok := h.last[id]; ok {
			if silent := now.Sub(last); beat >= silent {
				out[id] = silent
			} else {
				delete(h.last, id)
			}
		}
	}
	for id := range h.last {
		if _, known := beats[id]; !known {
			delete(h.last, id)
		}
	}
	return out
}
