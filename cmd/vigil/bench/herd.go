package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// perRoom is how many agents one room gets at most: a room is declared in one log
// entry.
const perRoom = 10_000

// agent is one agent that the benchmark speaks for.
type agent struct {
	speaker *vigilv1.Speaker
	id      uint32
	room    string
	role    string
}

// herd is what agents are made from: so many roles with so many replicas each.
type herd struct {
	roles, replicas int
	ttl             time.Duration
	runner          string // empty: started by hand
}

// herdOf spreads n agents over roles of at most 1,000.
func herdOf(n int, ttl time.Duration) herd {
	h := herd{roles: (n + 999) / 1000, ttl: ttl}
	h.replicas = (n + h.roles - 1) / h.roles
	return h
}

// role names the i-th role of the herd.
func (h herd) role(tag string, i int) (room, role string) {
	each := max(1, min(perRoom/h.replicas, 200))
	return fmt.Sprintf("%s-%d", tag, i/each), fmt.Sprintf("r%d", i%each)
}

// rooms lists the declarations.
func (h herd) rooms(tag string) []*vigilv1.ApplyRoomRequest {
	var list []*vigilv1.ApplyRoomRequest
	for i := range h.roles {
		room, role := h.role(tag, i)
		if len(list) == 0 || list[len(list)-1].Room != room {
			list = append(list, &vigilv1.ApplyRoomRequest{Room: room, By: "bench"})
		}
		last := list[len(list)-1]
		spec := &vigilv1.RoleSpec{Name: role, Replicas: uint32(h.replicas), Runner: h.runner,
			StartLimit: durationpb.New(time.Hour)}
		if h.ttl > 0 {
			spec.Ttl, spec.StopGrace = durationpb.New(h.ttl), durationpb.New(h.ttl/20)
		}
		last.Roles = append(last.Roles, spec)
	}
	return list
}

// declare applies the rooms; they are deleted at the end of the run when the
// cluster is not ours.
func (r *run) declare(ctx context.Context, c *client.Client, h herd) error {
	fleet := vigilv1.NewFleetClient(c)
	rooms := h.rooms(r.tag)
	for i, room := range rooms {
		r.say("declaring rooms: %d of %d", i+1, len(rooms))
		if _, err := fleet.ApplyRoom(ctx, room); err != nil {
			return fmt.Errorf("apply room %s: %w", room.Room, err)
		}
	}
	if len(r.Addrs) > 0 {
		r.stand.closers = append([]func(){func() { r.forget(c, rooms) }}, r.stand.closers...)
	}
	return nil
}

// forget deletes the rooms in a cluster that is not ours.
func (r *run) forget(c *client.Client, rooms []*vigilv1.ApplyRoomRequest) {
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	for _, room := range rooms {
		// What cannot be deleted now is named after the benchmark and harms nobody.
		_, _ = vigilv1.NewFleetClient(c).DeleteRoom(ctx, &vigilv1.DeleteRoomRequest{Room: room.Room, By: "bench"})
	}
}

// agentName is the name of the k-th agent of a role, from 1.
func agentName(room, role string, k int) string {
	if k == 1 {
		return room + "/" + role
	}
	return fmt.Sprintf("%s/%s.%d", room, role, k)
}

// gather declares the rooms and joins all agents by hand. The list is in the order
// of roles, so that agents[i*replicas:][:replicas] are those of the i-th.
func (r *run) gather(ctx context.Context, c *client.Client, h herd) ([]agent, error) {
	if err := r.declare(ctx, c, h); err != nil {
		return nil, err
	}
	const size = 1000
	n := h.roles * h.replicas
	agents := make([]agent, n)
	var mu sync.Mutex
	joined := 0
	err := each(ctx, (n+size-1)/size, 4, func(ctx context.Context, b int) error {
		part := agents[b*size : min((b+1)*size, n)]
		writes := make([]*vigilv1.Write, len(part))
		for i := range part {
			at := b*size + i
			a := &part[i]
			a.room, a.role = h.role(r.tag, at/h.replicas)
			a.speaker = &vigilv1.Speaker{Agent: agentName(a.room, a.role, at%h.replicas+1)}
			writes[i] = &vigilv1.Write{Op: &vigilv1.Write_Join{Join: &vigilv1.JoinRequest{Speaker: a.speaker}}}
		}
		results, err := batch(ctx, c, writes)
		if err != nil {
			return fmt.Errorf("join agents: %w", err)
		}
		for i := range part {
			part[i].id = results[i].GetAgentId()
			part[i].speaker.Incarnation = results[i].GetIncarnation()
		}
		mu.Lock()
		defer mu.Unlock()
		joined += len(part)
		r.say("joining agents: %d of %d", joined, n)
		return nil
	})
	return agents, err
}

// batch sends many writes in one call; one that is refused fails all.
func batch(ctx context.Context, c *client.Client, writes []*vigilv1.Write) ([]*vigilv1.WriteResult, error) {
	answer, err := vigilv1.NewWorkClient(c).Batch(ctx, &vigilv1.BatchRequest{Writes: writes})
	if err != nil {
		return nil, err
	}
	for i, res := range answer.GetResults() {
		if e := client.FromInfo(res.GetError()); e != nil {
			return nil, fmt.Errorf("write %d of %d: %w", i, len(writes), e)
		}
	}
	return answer.GetResults(), nil
}

// flock is a number of agents that beat in one call, as those of a host do.
type flock struct {
	req *vigilv1.BeatRequest
}

// flocks divides the agents into calls of size beats.
func flocks(agents []agent, size int, kinds uint32) []flock {
	var list []flock
	for at := 0; at < len(agents); at += size {
		req := &vigilv1.BeatRequest{}
		for _, a := range agents[at:min(at+size, len(agents))] {
			req.Agents = append(req.Agents, a.id)
			req.Incarnations = append(req.Incarnations, a.speaker.GetIncarnation())
			req.Kinds = append(req.Kinds, kinds)
		}
		list = append(list, flock{req})
	}
	return list
}

// beat renews all of them; anything but that is an error.
func (f flock) beat(ctx context.Context, w vigilv1.WorkClient) (int, error) {
	answer, err := w.Beat(ctx, f.req)
	switch {
	case err != nil:
		return 0, err
	case answer.GetHostGone():
		return 0, fmt.Errorf("beat: the cluster does not know host %d any more", f.req.GetHost())
	case len(answer.GetExceptions()) > 0:
		x := answer.GetExceptions()[0]
		return 0, fmt.Errorf("beat: %d of %d agents were not renewed; agent %d: %s",
			len(answer.GetExceptions()), len(f.req.GetAgents()), x.GetAgent(), x.GetVerdict())
	case int(answer.GetRenewed()) != len(f.req.GetAgents()):
		return 0, fmt.Errorf("beat: %d of %d agents were renewed", answer.GetRenewed(), len(f.req.GetAgents()))
	}
	return len(f.req.GetAgents()), nil
}
