//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/jepsen/history"
	"vigil/jepsen/hostile"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// hostileRoom is the room of the agent that attacks, and mole its role.
const (
	hostileRoom = "hostile"
	mole        = "mole"
)

// attackLimit bounds one strike of an agent, with the start of its life: other faults go on meanwhile.
const attackLimit = 25 * time.Second

// hostileAgentKinds are what an agent tries that has only the socket of its life.
func hostileAgentKinds() []*Kind {
	kind := func(attack, says string) *Kind {
		return &Kind{Name: "agent_" + attack, Lane: HostileAgent, Needs: hostileHosts,
			Strike: attackedByAgent(attack), Says: says}
	}
	return []*Kind{
		kind(hostile.Calls, "An agent makes every call about an agent of another room through the socket of its life."),
		kind(hostile.Lives, "An agent speaks as other incarnations and agents, and says in headers to be an admin, "+
			"a server, a program or another life."),
		kind(hostile.Monsters, "An agent sends huge names and mail, escape sequences and bytes that are no call; no "+
			"terminal of a human obeys them."),
		kind(hostile.Flood, "An agent makes as many calls as it can for 1 s, half of them with 64 KiB."),
	}
}

// hostileHostKinds are what a host tries that has a good certificate of its own, or a stranger.
func hostileHostKinds() []*Kind {
	kind := func(name string, weight int, s strike, says string) *Kind {
		return &Kind{Name: name, Lane: HostileHost, Weight: weight, Needs: identities, Strike: s, Says: says}
	}
	return []*Kind{
		kind("host_calls", 2, byHost(hostCalls), "A host that has joined makes every call about another host and its lives."),
		kind("host_forges_reports", 3, byHost(hostForges), "A host reports, beats and speaks for a life on another host, "+
			"for earlier and later incarnations of it too."),
		kind("host_floods", 1, byHost(hostFloods), "A host makes as many calls as it can for 1 s, half of them with 64 KiB."),
		kind("token_replayed", 2, byHost(tokenReplayed), "The token by which a host has joined is used again, by others, "+
			"by a server and with other secrets."),
		kind("key_stolen", 2, byHost(keyStolen), "The key of a host is copied and renewed twice, then revoked, and used on."),
		kind("stranger_calls", 1, strangerCalls, "Somebody without a certificate makes every call, and says in headers "+
			"to be an admin, a server, a program or a life."),
		kind("log_port_attacked", 2, logPort, "At the port of the log somebody without a certificate, in clear and with a "+
			"host's certificate sends votes, entries and snapshots with terms near 2^64."),
	}
}

// identities says why nobody can be refused.
func identities(f *Field) string {
	if f.Stand.Holder() == nil {
		return "servers speak in clear, and believe whoever reaches them"
	}
	return ""
}

func hostileHosts(f *Field) string {
	if len(f.Stand.Hosts) == 0 {
		return "it takes hosts"
	}
	return identities(f)
}

// attackedByAgent has the mole do what the name says. It touches no machine, so it excuses nothing.
func attackedByAgent(attack string) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, _ *rand.Rand) (Struck, error) {
		call, cancel := context.WithTimeout(ctx, attackLimit)
		defer cancel()
		victim, err := f.victim(call)
		task := uint64(0)
		if err == nil {
			task, err = f.mole(call, attack, victim)
		}
		if err != nil {
			return Struck{Note: "not begun: " + err.Error()}, nil
		}
		list, err := f.tried(call, task)
		if err != nil {
			f.giveUp(task)
			return Struck{Note: "not done: " + err.Error()}, nil
		}
		s := Struck{Note: counted(list), Attempts: list}
		if attack == hostile.Monsters {
			s.Broken, err = f.obeys(task)
		}
		return s, err
	}
}

// mole gives the hostile agent a task.
func (f *Field) mole(ctx context.Context, attack string, on hostile.Victim) (uint64, error) {
	if _, err := f.Fleet.ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: hostileRoom, By: "nemesis",
		Roles: []*vigilv1.RoleSpec{
			{Name: mole, Runner: stand.Runner, Replicas: 1, Ttl: durationpb.New(f.TTL)}}}); err != nil {
		return 0, err
	}
	t, err := f.Fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: hostileRoom, Role: mole, By: "nemesis",
		Title: attack, Text: "hostile=" + attack + ",victim=" + on.String()})
	return t.GetId(), err
}

// tried waits until the task is done, and reads what its agent has tried.
func (f *Field) tried(ctx context.Context, task uint64) ([]history.Attempts, error) {
	for {
		t, err := f.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: task})
		if err == nil {
			switch t.GetState() {
			case vigilv1.TaskState_COMPLETED:
				return hostile.Read(t.GetResult())
			case vigilv1.TaskState_FAILED, vigilv1.TaskState_CANCELED, vigilv1.TaskState_QUARANTINED:
				return nil, fmt.Errorf("its task is %s", t.GetState())
			}
		}
		if !f.Pause(ctx, 50*time.Millisecond) {
			return nil, errors.Join(errors.New("no result in time"), err)
		}
	}
}

// giveUp cancels a task, if the cluster hears it.
func (f *Field) giveUp(task uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, _ = f.Fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: task, By: "nemesis"})
}

// obeys says what a terminal would obey of what commands print about the hostile agent; empty: nothing.
func (f *Field) obeys(task uint64) (string, error) {
	for _, args := range [][]string{
		{"mail", "inbox", hostileRoom + "/" + mole}, {"agent", "explain", hostileRoom + "/" + mole},
		{"agent", "show", hostileRoom + "/" + mole}, {"task", "show", fmt.Sprint(task)}, {"events", "--room", hostileRoom},
	} {
		out, err := f.Stand.CLI(append(args, "--timeout", "5s")...)
		if err != nil { // nobody answers at the moment
			continue
		}
		if i := strings.IndexFunc(string(out), func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}); i >= 0 {
			return fmt.Sprintf("vigil %s prints %.60q", strings.Join(args, " "), out[i:]), nil
		}
	}
	return "", nil
}

// counted says how many attempts there were.
func counted(list []history.Attempts) string {
	n, wrong := 0, 0
	for _, a := range list {
		if n += a.Count; a.Wrong != "" {
			wrong += a.Count
		}
	}
	return fmt.Sprintf("%d attempts, %d answered wrongly", n, wrong)
}

// intruder is a hostile host at one server.
type intruder struct {
	*hostile.Machine
	token  hostile.Token // by which it has joined
	server *stand.Server
	victim hostile.Victim
	tally  hostile.Tally
}

// byHost makes a strike of what a hostile host does, which joins for it and is forgotten afterwards. Where
// something else is broken so that it cannot join, nothing is tried.
func byHost(do func(ctx context.Context, f *Field, in *intruder) error) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		in := &intruder{server: oneOf(f.Stand.Servers, r)}
		var err error
		if in.victim, err = f.victim(ctx); err != nil {
			return Struck{Note: "not begun: " + err.Error()}, nil
		}
		self, word, err := f.Stand.Intruder()
		if err != nil {
			return Struck{Note: "not begun: " + err.Error()}, nil
		}
		if in.token, err = hostile.ParseToken(word); err != nil {
			return Struck{}, err
		}
		if in.Machine, err = hostile.Enter(ctx, self, in.server.Addr()); err != nil {
			return Struck{Note: "not begun: " + err.Error()}, nil
		}
		defer in.Close()
		defer f.forget(in.Key)
		note := ""
		if err := do(ctx, f, in); err != nil {
			note = ", cut short: " + err.Error()
		}
		list := in.tally.List()
		return Struck{Note: in.server.Name + ": " + counted(list) + note, Attempts: list}, nil
	}
}

// forget takes a hostile host out of the cluster, if that hears it.
func (f *Field) forget(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, _ = f.Fleet.ForgetHost(ctx, &vigilv1.ForgetHostRequest{Host: key, By: "nemesis"})
}

// victim is a life that runs on a host of the stand.
func (f *Field) victim(ctx context.Context) (v hostile.Victim, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	agents, err := f.Fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: f.Room, Limit: 1000})
	if err != nil {
		return v, err
	}
	hosts, err := f.Fleet.ListHosts(ctx, &vigilv1.ListHostsRequest{})
	if err != nil {
		return v, err
	}
	for _, a := range agents.GetAgents() {
		i := slices.IndexFunc(f.Stand.Hosts, func(h *stand.Host) bool { return h.Name == a.GetHost() })
		k := slices.IndexFunc(hosts.GetHosts(), func(h *vigilv1.Host) bool { return h.GetName() == a.GetHost() })
		if a.GetProcess() != "running" || i < 0 || k < 0 {
			continue
		}
		self, err := f.Stand.Hosts[i].Identity().Holder()
		if err != nil {
			return v, err
		}
		p, _ := self.Self()
		return hostile.Victim{Agent: a.GetName(), AgentID: a.GetId(), Incarnation: a.GetIncarnationRaw(),
			Host: hosts.GetHosts()[k].GetId(), Key: p.ID, Server: f.Stand.Servers[0].Name, Task: f.taskOf(ctx)}, nil
	}
	return v, errors.New("no agent runs on a host")
}

// taskOf gives a task of the room of the agents, 1 when it has none.
func (f *Field) taskOf(ctx context.Context) uint64 {
	list, err := f.Fleet.ListTasks(ctx, &vigilv1.ListTasksRequest{Room: f.Room, Limit: 1})
	if err != nil || len(list.GetTasks()) == 0 {
		return 1
	}
	return list.GetTasks()[0].GetId()
}

func hostCalls(ctx context.Context, _ *Field, in *intruder) error {
	in.Calls(ctx, &in.tally, in.victim)
	return nil
}

func hostForges(ctx context.Context, _ *Field, in *intruder) error {
	in.Forges(ctx, &in.tally, in.victim)
	return nil
}

func hostFloods(ctx context.Context, _ *Field, in *intruder) error {
	in.Flood(ctx, &in.tally)
	return nil
}

func tokenReplayed(ctx context.Context, f *Field, in *intruder) error {
	conn, err := hostile.Dial(hostile.Stranger(f.Stand.Holder()), in.server.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	return in.token.Replay(ctx, &in.tally, conn, in.Key)
}

func keyStolen(ctx context.Context, f *Field, in *intruder) error {
	if err := in.Clone(ctx, &in.tally); err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := f.Trust.Revoke(call, &vigilv1.RevokeRequest{Kind: "host", Name: in.Key}); err != nil {
		return err
	}
	// It counts on every server that has the entry.
	f.follows(ctx, in.server)
	if now, err := f.Ask(ctx, in.server); err != nil || now.GetLeader() == "" {
		return fmt.Errorf("%s does not follow: %w", in.server.Name, err)
	}
	return in.Stolen(ctx, &in.tally, in.server.Addr())
}

func strangerCalls(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	v, err := f.victim(ctx)
	if err != nil {
		v = hostile.Victim{Agent: f.Room + "/work", AgentID: 1, Incarnation: 1, Host: 1, Key: "h1",
			Server: f.Stand.Servers[0].Name, Task: 1}
	}
	sv := oneOf(f.Stand.Servers, r)
	conn, err := hostile.Dial(hostile.Stranger(f.Stand.Holder()), sv.Addr())
	if err != nil {
		return Struck{}, err
	}
	defer conn.Close()
	var t hostile.Tally
	hostile.CallsOf(ctx, &t, conn, v)
	return Struck{Note: sv.Name + ": " + counted(t.List()), Attempts: t.List()}, nil
}

// logPort attacks the port of the log of one server in the name of another one.
func logPort(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	sv := oneOf(f.Stand.Servers, r)
	st, err := f.Ask(ctx, sv)
	if err != nil {
		return Struck{Note: "not begun: " + err.Error()}, nil
	}
	port := hostile.RaftPort{Addr: sv.RaftAddr(), Cluster: st.GetClusterId(), Of: sv.Name, As: oneOf(f.others(sv), r).Name}
	var t hostile.Tally
	port.Who = "in clear"
	port.Attack(ctx, &t)
	port.Who, port.TLS = "stranger", hostile.Stranger(f.Stand.Holder())
	port.Attack(ctx, &t)
	if self, _, err := f.Stand.Intruder(); err == nil {
		port.Who, port.TLS = "host", self.Client(nil)
		port.Attack(ctx, &t)
	}
	if st, err := f.Ask(ctx, sv); err == nil {
		t.Term(st.GetTerm())
	}
	return Struck{Note: sv.Name + ": " + counted(t.List()), Attempts: t.List()}, nil
}
