package dev

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// comeUp waits for the servers, so that any of them can be lost, and for the hosts, so that agents spread
// over them, declares the room and waits until its agents have joined.
func (f *fleet) comeUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, devReady)
	defer cancel()
	if err := f.place.enroll(ctx, f.conn.Client, f.place.apiAddrs()); err != nil {
		return err
	}
	if err := f.await(ctx, "the servers", f.serversVote); err != nil {
		return err
	}
	if err := f.await(ctx, "the hosts", f.hostsReady); err != nil {
		return err
	}
	if _, err := f.conn.Fleet.ApplyRoom(ctx, devRoles()); err != nil {
		return fmt.Errorf("declare room %s: %w; logs are in %s", devRoom, err, f.place.dir)
	}
	return f.await(ctx, "the agents of room "+devRoom, f.agentsJoined)
}

// await looks until all of what is there.
func (f *fleet) await(ctx context.Context, what string, there func(context.Context) bool) error {
	for !there(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: not all have come up within %s; logs are in %s", what, devReady,
				f.place.dir)
		case <-time.After(devLook):
		}
	}
	return nil
}

// serversVote tells whether all servers have a vote, and a leader.
func (f *fleet) serversVote(ctx context.Context) bool {
	list, err := f.conn.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	voters := 0
	for _, s := range list.GetServers() {
		if s.GetVoter() && s.GetApiAddr() != "" {
			voters++
		}
	}
	return err == nil && voters >= len(f.place.servers)
}

func (f *fleet) hostsReady(ctx context.Context) bool {
	list, err := f.conn.Fleet.ListHosts(ctx, &vigilv1.ListHostsRequest{})
	if err != nil {
		return false
	}
	n := 0
	for _, h := range list.GetHosts() {
		// One of an earlier run may be drained, or pause because it came and went.
		ours := slices.ContainsFunc(f.place.hosts, func(d devHost) bool { return d.name == h.GetName() })
		if ours && (h.GetState() == "ready" || h.GetState() == "returning" || h.GetState() == "draining") {
			n++
		}
	}
	return n >= len(f.place.hosts)
}

func (f *fleet) agentsJoined(ctx context.Context) bool {
	agents, err := f.agents(ctx)
	if err != nil {
		return false
	}
	n := 0
	for _, agent := range agents {
		if agent.GetParticipant() != "DISCONNECTED" && agent.GetPid() != 0 {
			n++
		}
	}
	return n >= always(devRoles())
}

// always counts the agents that run without a task too.
func always(room *vigilv1.ApplyRoomRequest) (n int) {
	for _, role := range room.GetRoles() {
		if role.GetStart() == "always" {
			n += int(role.GetReplicas())
		}
	}
	return n
}

// devRoles declares the room. Computing a checksum twice does no harm, so that role is
// fast: its agents are started elsewhere as soon as their host is not heard any more.
func devRoles() *vigilv1.ApplyRoomRequest {
	role := func(name string, replicas uint32, start, policy string) *vigilv1.RoleSpec {
		return &vigilv1.RoleSpec{Name: name, Runner: name, Replicas: replicas, Start: start,
			Proof: "agent", Policy: policy,
			Ttl: durationpb.New(devTTL), StartLimit: durationpb.New(10 * time.Second),
			Health: &vigilv1.HealthSpec{Every: durationpb.New(devHealth), Missed: 3}}
	}
	return &vigilv1.ApplyRoomRequest{Room: devRoom, By: "vigil dev", Roles: []*vigilv1.RoleSpec{
		role("checksum", 2, "always", "fast"), role("words", 2, "always", "fenced"),
		role("vet", 1, "on_demand", "fenced"),
	}}
}

// agents lists those of the room.
func (f *fleet) agents(ctx context.Context) ([]*vigilv1.Agent, error) {
	list, err := f.conn.Fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: devRoom})
	return list.GetAgents(), err
}

// createTasks creates some tasks at once and then one every now and then.
func (f *fleet) createTasks(ctx context.Context) error {
	jobs := devJobs()
	for n := 0; ; n++ {
		job := jobs[n%len(jobs)]
		_, err := f.conn.Fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: devRoom, Role: job[0], Text: job[1],
			Title: job[0] + " of " + job[1], By: "vigil dev"})
		if err != nil && ctx.Err() == nil {
			f.say("a task could not be created: %v", err)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case n < devFirst-1:
			continue
		case f.options.every == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.options.every):
		}
	}
}

// server finds the child that runs a server.
func (f *fleet) server(id string) *child {
	at := slices.IndexFunc(f.servers, func(c *child) bool { return strings.HasSuffix(c.name, " "+id) })
	if at < 0 {
		return nil
	}
	return f.servers[at]
}
