package hosts

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// Streams keeps the streams that hosts hold to this server. Safe for concurrent use.
type Streams struct {
	count atomic.Int64

	mu      sync.Mutex
	streams map[noun.HostID]*stream
}

// stream is one host's stream.
type stream struct {
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

// NewStreams keeps none yet.
func NewStreams() *Streams { return &Streams{streams: map[noun.HostID]*stream{}} }

// Silence tells how long the host has said nothing on its stream here; false when
// it holds none here.
func (h *Streams) Silence(id noun.HostID) (time.Duration, bool) {
	s := h.find(id)
	if s == nil {
		return 0, false
	}
	return s.silence(), true
}

func (s *stream) silence() time.Duration {
	return time.Since(s.start) - time.Duration(s.heard.Load())
}

func (h *Streams) find(id noun.HostID) *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams[id]
}

// enter makes s the stream of its host; an older one ends.
func (h *Streams) enter(s *stream) {
	h.mu.Lock()
	old := h.streams[s.host]
	h.streams[s.host] = s
	h.mu.Unlock()
	h.count.Add(1)
	if old != nil {
		old.stop()
	}
}

func (h *Streams) exit(s *stream) {
	h.mu.Lock()
	if h.streams[s.host] == s {
		delete(h.streams, s.host)
	}
	h.mu.Unlock()
	h.count.Add(-1)
	close(s.gone)
	s.dropLogs()
}

// Taken tells whether every host with a stream has the keys of that revision of the ring of gossip.
func (h *Streams) Taken(rev uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.streams {
		if s.keys.taken.Load() != rev {
			return false
		}
	}
	return true
}

// Open is how many streams hosts hold to this server.
func (h *Streams) Open() int64 { return h.count.Load() }
