package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vigil/rpc/gen/vigilv1"
)

// Cluster is what was asked of a cluster.
type Cluster struct {
	Err    error // nobody answers; all else is empty then
	Status *vigilv1.StatusResponse
	Hosts  []*vigilv1.Host
	// Servers are what each server says of all, by its id; Deaf why one did not answer us.
	Servers map[string][]*vigilv1.Server
	Deaf    map[string]error
	// Warned are the warnings of servers that no other finding has, by what they are about.
	Warned map[string]warned
}

// judgeCluster says what is wrong with a cluster.
func judgeCluster(c *Cluster) (l list) {
	if c.Err != nil {
		l.mend("cluster", "no server answers: "+c.Err.Error(),
			"start the servers (systemctl status vigil-server), or name one with --addr; "+
				"see docs/operations.md when they are lost")
		return l
	}
	st := c.Status
	if st.GetLeader() == "" {
		l.mend("cluster", "no server leads: "+cmp.Or(st.GetLeaderless(), "none is elected"),
			"start the servers that are missing; when a majority is lost for good: vigil server recover (docs/operations.md)")
	}
	l.judgeServers(c)
	l.judgePairs(c)
	for _, h := range c.Hosts {
		l.judgeHost(c, h)
	}
	l.judgeGossip(c)
	for _, about := range sortedKeys(c.Warned) {
		w := c.Warned[about]
		l = append(l, Finding{"cluster", w.mend, strings.TrimSuffix(w.text, "."), w.remedy})
	}
	if why := st.GetBrake(); why != "" {
		l.note("cluster", "the brake is set: "+why, "see that the lost hosts are really gone, then `vigil brake release`")
	}
	if st.GetPaused() {
		l.note("cluster", "everything is paused by "+st.GetPauseBy()+": nothing is started", "`vigil resume`")
	}
	return l
}

func (l *list) judgeServers(c *Cluster) {
	voters := 0
	versions := map[string][]string{}
	for _, s := range c.Status.GetServers() {
		if s.GetVoter() {
			voters++
		}
		if v := s.GetVersion(); v != "" {
			versions[v] = append(versions[v], "server "+s.GetId())
		}
		if s.GetDiverged() {
			l.mend("cluster", "server "+s.GetId()+" has another state than the majority",
				fmt.Sprintf("vigil server remove %s, empty its data directory, vigil server join TOKEN there", s.GetId()))
		}
	}
	switch {
	case voters < 3:
		l.note("cluster", fmt.Sprintf("servers with a vote: %d, so the loss of one stops the cluster", voters),
			"add servers until three vote: `vigil token create --role server`, `vigil server join TOKEN`")
	case voters%2 == 0:
		l.note("cluster", fmt.Sprintf("%d servers vote, and bear the loss of no more than %d would", voters, voters-1),
			"add one or remove one")
	}
	for _, h := range c.Hosts {
		if v := h.GetVersion(); v != "" && h.GetState() != "left" {
			versions[v] = append(versions[v], "host "+h.GetName())
		}
	}
	if len(versions) > 1 {
		var said []string
		for _, v := range sortedKeys(versions) {
			names := versions[v]
			said = append(said, fmt.Sprintf("%s (%s)", v, strings.Join(names[:min(len(names), 3)], ", ")))
		}
		l.note("versions", "versions differ: "+strings.Join(said, "; "),
			"finish the upgrade, hosts first or servers first; or see why one machine was left out")
	}
}

// judgePairs looks at each pair of machines, from both ends where both answer.
func (l *list) judgePairs(c *Cluster) {
	for _, id := range sortedKeys(c.Deaf) {
		l.mend("network", "server "+id+" does not answer this machine: "+c.Deaf[id].Error(),
			"see that it runs, and that its API port is open from here (addr, advertise_addr; TCP)")
	}
	for _, by := range sortedKeys(c.Servers) {
		for _, s := range c.Servers[by] {
			if health := s.GetHealth(); s.GetId() != by && (health == "dead" || health == "suspect") {
				l.mend("network", fmt.Sprintf("server %s does not hear server %s: %s", by, s.GetId(), health),
					fmt.Sprintf("see that %s runs, and that %s is open between both (TCP)", s.GetId(),
						cmp.Or(s.GetRaftAddr(), "its raft_addr")))
			}
		}
	}
}

// judgeGossip notices hosts that gossip with no server: nothing is broken then, and nothing is gained.
func (l *list) judgeGossip(c *Cluster) {
	if slices.ContainsFunc(c.Status.GetServers(), func(s *vigilv1.Server) bool { return s.GetGossipAddr() != "" }) {
		return
	}
	for _, h := range c.Hosts {
		if h.GetGossipAddr() != "" && h.GetState() != "left" {
			l.note("network", "host "+h.GetName()+
				" gossips and no server does: a host that has died is noticed by its stream alone",
				"set gossip.bind in server.yaml of each server (docs/guide/servers.md)")
			return // one line for all
		}
	}
}

func (l *list) judgeHost(c *Cluster, h *vigilv1.Host) {
	name := h.GetName()
	if h.GetState() == "lost" || h.GetState() == "suspect" {
		l.mend("hosts", "host "+name+" is "+h.GetState()+" "+h.GetSuspectWhy(),
			"vigil host explain "+name+" tells who hears it; when the machine is gone for good: vigil host confirm-dead "+name)
		return // what follows is of hosts that are there
	}
	if h.GetState() == "left" {
		return
	}
	var udp, tcp []string
	for _, v := range h.GetViews() {
		switch {
		case h.GetGossipAddr() != "" && v.GetGossip() == "silent" && v.GetStream() == "alive":
			udp = append(udp, v.GetServer())
		case v.GetStream() != "alive" && v.GetGossip() == "alive":
			tcp = append(tcp, v.GetServer())
		}
	}
	if len(udp) > 0 {
		l.mend("network", fmt.Sprintf("host %s is connected, and its gossip does not reach server %s",
			name, strings.Join(udp, ", ")), "open "+h.GetGossipAddr()+" for UDP and TCP both ways")
	}
	if len(tcp) == len(h.GetViews()) && len(tcp) > 0 {
		l.mend("network", fmt.Sprintf("host %s gossips and has no stream to any server: it gets no orders", name),
			"open the servers' API ports (TCP) for it, and see the log of its agentd")
	}
	if p := h.GetPressure(); p != "" {
		l.mend("hosts", "host "+name+" "+p+": it gets no starts",
			"free what is short there, or drain it: vigil host drain "+name)
	}
	if h.GetContainment() == "weak" {
		l.note("hosts", "host "+name+" cannot hold on to processes that leave their group: two lives may overlap",
			"run its agentd as root with Delegate=yes, as its unit does (docs/guide/hosts.md)")
	}
	for _, w := range h.GetWarnings() {
		l.note("hosts", "host "+name+" warns: "+w, "vigil host show "+name)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
