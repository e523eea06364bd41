package cluster

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Server is one member of the cluster as the leader sees it. Other servers hear of the leader only, and have no Lag.
type Server struct {
	ID, RaftAddr, APIAddr string
	Version               string
	Features              uint32
	Voter, Leader, Self   bool
	Standby               bool   // kept without a vote
	Zone                  string // empty: not said
	Diverged              bool
	Contact               time.Duration // since its last sign of life, or since it was found unreachable; -1: unknown
	Lag                   uint64        // log entries behind this server
}

// configuration is the newest one that raft knows; empty before Run.
func (n *node) configuration() []raft.Server {
	rf := n.raft.Load()
	if rf == nil {
		return nil
	}
	fut := rf.GetConfiguration()
	if fut.Error() != nil {
		return nil
	}
	return fut.Configuration().Servers
}

// voters lists the ids of the voting servers, sorted.
func (n *node) voters() []string {
	var ids []string
	for _, s := range n.configuration() {
		if s.Suffrage == raft.Voter {
			ids = append(ids, string(s.ID))
		}
	}
	slices.Sort(ids)
	return ids
}

// Servers lists the members of the cluster by id.
func (n *node) Servers() []Server {
	leader := n.Leader().ID
	var list []Server
	for _, s := range n.configuration() {
		m := Server{ID: string(s.ID), RaftAddr: string(s.Address), Voter: s.Suffrage == raft.Voter, Contact: -1}
		m.Leader, m.Self = m.ID == leader, m.ID == n.cfg.ID
		n.contact(&m, leader)
		list = append(list, m)
	}
	n.Read(func(s *fsm.View) {
		for _, srv := range s.Servers() {
			if i := slices.IndexFunc(list, func(m Server) bool { return m.ID == srv.ID }); i >= 0 {
				list[i].APIAddr, list[i].Version, list[i].Features = srv.APIAddr, srv.Version, srv.Features
				list[i].Zone = srv.Zone
			}
		}
		for i := range list {
			list[i].Standby = !list[i].Voter && s.Standby(list[i].ID)
			list[i].Diverged = slices.Contains(s.Diverged(), list[i].ID)
		}
	})
	slices.SortFunc(list, func(a, b Server) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return list
}

// contact fills in what this server hears of a member. Who follows asks nobody: what it has known of the others
// since it led, or stood for election, says nothing of now.
func (n *node) contact(m *Server, leader string) {
	c := n.trans.contactOf(m.ID)
	switch since, down := n.words.since(m.RaftAddr); {
	case m.Self:
		m.Contact = 0
	case m.Leader:
		m.Contact = time.Since(n.raft.Load().LastContact())
	case leader == n.cfg.ID && !c.at.IsZero():
		m.Contact = time.Since(c.at)
		m.Lag = n.raft.Load().LastIndex() - min(c.last, n.raft.Load().LastIndex())
	case down && (leader == n.cfg.ID || leader == ""):
		m.Contact = since
	}
}

// Leader is who leads as far as this server knows.
type Leader struct {
	ID      string // empty: unknown
	APIAddr string // empty: unknown
	Self    bool   // this server leads and its stint is open
	Term    uint64
}

// Leader tells who leads, without asking anybody. It may be wrong for the length
// of an election; the log has the last word.
func (n *node) Leader() Leader {
	if st, _ := n.stints.current(); st != nil {
		return Leader{ID: n.cfg.ID, APIAddr: n.cfg.APIAddr, Self: true, Term: st.term}
	}
	rf := n.raft.Load()
	if rf == nil {
		return Leader{}
	}
	_, id := rf.LeaderWithID()
	if id == "" || string(id) == n.cfg.ID {
		return Leader{Term: rf.CurrentTerm()}
	}
	l := Leader{ID: string(id), Term: rf.CurrentTerm()}
	if s := n.machine.stint.Load(); s != nil && s.Server == l.ID && s.APIAddr != "" {
		l.APIAddr = s.APIAddr
		return l
	}
	l.APIAddr = n.apiAddr(l.ID)
	return l
}

// leading gives raft when this server's stint is open.
func (n *node) leading() (*raft.Raft, error) {
	if n.diverged.Load() {
		return nil, noun.ErrDiverged
	}
	if st, _ := n.stints.current(); st == nil {
		return nil, noun.ErrNotLeader
	}
	return n.raft.Load(), nil
}

// apiAddr looks a server up in the state.
func (n *node) apiAddr(id string) (addr string) {
	n.Read(func(s *fsm.View) {
		for _, srv := range s.Servers() {
			if srv.ID == id {
				addr = srv.APIAddr
			}
		}
	})
	return addr
}
