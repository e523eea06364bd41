package door

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/rpc/code"
)

// Rhythm in which servers try each other's APIs.
const (
	reachEvery = 500 * time.Millisecond
	reachLimit = time.Second // for one answer
)

// reach tries the APIs of the other servers, and notes when their calls, and those of
// hosts, come in here: a server can do well in every other way while nobody reaches
// its API. Safe for concurrent use.
type reach struct {
	self   string
	reader Reader
	peers  *peers
	born   time.Time
	heard  atomic.Int64 // since born, of the last call; 0: none

	mu      sync.Mutex
	reached map[string]time.Time // by server: when it last answered, born if it never did
	trying  map[string]bool

	signpost signpost
}

func newReach(self string, r Reader, p *peers) *reach {
	return &reach{self: self, reader: r, peers: p, born: time.Now(), reached: map[string]time.Time{},
		trying: map[string]bool{}}
}

// hear notes that somebody else has reached this server.
func (r *reach) hear() { r.heard.Store(max(1, int64(time.Since(r.born)))) }

// hearCall notes a call that this process does not send to itself.
func (r *reach) hearCall(ctx context.Context, full string) {
	if IsForwarded(ctx) || code.NatureOf(full) == code.Beat {
		r.hear()
	}
}

// run tries the other servers until ctx ends.
func (r *reach) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(reachEvery)
	defer tick.Stop()
	for {
		r.signpost.look(r.reader)
		others := map[string]string{}
		r.reader.Read(func(st *fsm.View) {
			for _, s := range st.Servers() {
				if s.ID != r.self && s.APIAddr != "" {
					others[s.ID] = s.APIAddr
				}
			}
		})
		for id, addr := range others {
			if r.begin(id) {
				wg.Go(func() { r.end(id, r.try(ctx, addr)) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// begin gives false while the server is being tried.
func (r *reach) begin(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trying[id] {
		return false
	}
	r.trying[id] = true
	return true
}

func (r *reach) end(id string, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.trying, id)
	if answered {
		r.reached[id] = time.Now()
	} else if r.reached[id].IsZero() { // it may be the leader, and out of reach since before this server was started
		r.reached[id] = r.born
	}
}

// try tells whether the API at addr answers. Any answer is one.
func (r *reach) try(ctx context.Context, addr string) bool {
	conn, err := r.peers.conn(addr)
	if err != nil {
		return false
	}
	ask, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, code.HeaderForwarded, r.self), reachLimit)
	defer cancel()
	answers := conn.link.Ask(ask)
	if !answers && ctx.Err() == nil && conn.link.Usable() {
		r.peers.lost(conn.link) // half open: the next call should find a link that works
	}
	return answers
}

// Hear notes that somebody else has reached this server, on a stream.
func (d *Door) Hear() { d.reach.hear() }

// Heard is when a call of another server or of a host last came in; zero: never.
func (d *Door) Heard() time.Time {
	at := d.reach.heard.Load()
	if at == 0 {
		return time.Time{}
	}
	return d.reach.born.Add(time.Duration(at))
}

// Reached is when the API of that server last answered this one. One that was tried and
// never answered counts as if it had when this server was started; zero: it was not tried.
func (d *Door) Reached(id string) time.Time { return d.reach.last(id) }

// last is when that server answered last.
func (r *reach) last(id string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reached[id]
}

// healthService answers other servers, clients that ask for a sign of life, and
// whatever else speaks gRPC's own protocol for that.
type healthService struct {
	grpc_health_v1.UnimplementedHealthServer
	*core
}

// Check tells whether this server should get traffic, as /readyz does.
func (h *healthService) Check(
	context.Context, *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	answer := grpc_health_v1.HealthCheckResponse_SERVING
	if h.health != nil && h.health.Ready() != nil || h.reader.Leader().ID == "" {
		answer = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return &grpc_health_v1.HealthCheckResponse{Status: answer}, nil
}

// ownCall tells whether every server answers the call for itself and before anything
// else is asked.
func ownCall(full string) bool { return full == grpc_health_v1.Health_Check_FullMethodName }
