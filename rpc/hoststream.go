package rpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// hosts keeps the streams that hosts hold to this server. Safe for concurrent use.
type hosts struct {
	count atomic.Int64

	mu      sync.Mutex
	streams map[noun.HostID]*hostStream
}

// hostStream is one host's stream.
type hostStream struct {
	host  noun.HostID
	boot  string
	out   chan *vigilv1.ServerMessage
	gone  chan struct{} // closed when the stream has ended
	stop  context.CancelFunc
	heard atomic.Int64 // nanoseconds since opened of the last word
	start time.Time
	keys  streamKeys

	mu   sync.Mutex
	next uint64
	logs map[uint64]*logRequest
}

// streamKeys are the revisions of the ring of gossip that a host was sent, and that it has.
type streamKeys struct {
	sent  uint64 // by the loop of the stream
	taken atomic.Uint64
}

func newHosts() *hosts { return &hosts{streams: map[noun.HostID]*hostStream{}} }

// silence tells how long the host has said nothing on its stream here; false when
// it holds none here.
func (h *hosts) silence(id noun.HostID) (time.Duration, bool) {
	s := h.find(id)
	if s == nil {
		return 0, false
	}
	return s.silence(), true
}

func (s *hostStream) silence() time.Duration {
	return time.Since(s.start) - time.Duration(s.heard.Load())
}

func (h *hosts) find(id noun.HostID) *hostStream {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams[id]
}

// enter makes s the stream of its host; an older one ends.
func (h *hosts) enter(s *hostStream) {
	h.mu.Lock()
	old := h.streams[s.host]
	h.streams[s.host] = s
	h.mu.Unlock()
	h.count.Add(1)
	if old != nil {
		old.stop()
	}
}

func (h *hosts) exit(s *hostStream) {
	h.mu.Lock()
	if h.streams[s.host] == s {
		delete(h.streams, s.host)
	}
	h.mu.Unlock()
	h.count.Add(-1)
	close(s.gone)
	s.dropLogs()
}

// taken tells whether every host with a stream has the keys of that revision of the ring of gossip.
func (h *hosts) taken(rev uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.streams {
		if s.keys.taken.Load() != rev {
			return false
		}
	}
	return true
}

// open is how many streams hosts hold to this server.
func (h *hosts) open() int64 { return h.count.Load() }
