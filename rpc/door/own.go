package door

import (
	"crypto/sha256"
	"errors"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// Servers, hosts and agents speak for themselves only. This file tells whether a request does.

// ownServer tells whether a request is about the server of that id, or about none.
func ownServer(id string, req any) bool {
	switch r := req.(type) {
	case *vigilv1.AnnounceServerRequest:
		return r.GetId() == id
	case *vigilv1.AddServerRequest:
		return r.GetId() == id
	case *vigilv1.ReportHashRequest:
		return r.GetServer() == id
	case *vigilv1.ReportViewsRequest:
		return r.GetServer() == id
	case *vigilv1.ReportGossipRequest:
		return r.GetServer() == id
	}
	return true
}

// ownHost is nil when a request is about the host of that key. Hosts have numbers too: one that this
// replica does not know yet is looked up by the leader, and by the stream that it opens.
func (g *guard) ownHost(key string, req any) error {
	var number uint32
	switch r := req.(type) {
	case interface{ GetKey() string }:
		if r.GetKey() == key {
			return nil
		}
		return errForeign
	case *vigilv1.HostMessage:
		number = r.GetHello().GetHost()
		if number == 0 {
			return nil // refused for what it is
		}
	case interface{ GetHost() uint32 }:
		number = r.GetHost()
	default:
		return nil
	}
	var err error
	g.reader.Read(func(st *fsm.View) {
		switch host := st.Host(noun.HostID(number)); {
		case host != nil && host.Key != key:
			err = errForeign
		case host == nil && g.leader().Self:
			err = unknownHost(number, req)
		}
	})
	return err
}

// unknownHost is what a host hears whose number nobody has: the answer to a beat tells it by itself.
func unknownHost(number uint32, req any) error {
	switch req.(type) {
	case *vigilv1.BeatRequest, *vigilv1.HostMessage:
		return nil
	}
	return fault.NotFound("Host %d is not registered; register again.", number)
}

// speakerOf gives who speaks in a request; nil: nobody does.
func speakerOf(req any) *vigilv1.Speaker {
	if r, ok := req.(interface{ GetSpeaker() *vigilv1.Speaker }); ok {
		return r.GetSpeaker()
	}
	return nil
}

// hasToken tells whether a request brings a token for the life that it names. The state machine
// compares it, and ownToken.
func hasToken(req any) bool {
	if b, ok := req.(*vigilv1.BeatRequest); ok {
		if b.GetHost() != 0 || len(b.GetAgents()) == 0 || len(b.GetTokens()) != len(b.GetAgents()) {
			return false
		}
		for _, token := range b.GetTokens() {
			if token == "" {
				return false
			}
		}
		return true
	}
	sp := speakerOf(req)
	return sp.GetAgent() != "" && sp.GetIncarnation() != 0 && sp.GetToken() != ""
}

// ownToken refuses, on the leader, a token that is not that of the newest life of its agent: a stranger who
// makes one up writes nothing into the log. A life keeps its token. Of any other life the state machine
// answers: it knows what that was told before. Beats are judged one by one.
func (g *guard) ownToken(req any) (err error) {
	sp := speakerOf(req)
	if sp == nil || !g.leader().Self {
		return nil
	}
	hash := sha256.Sum256([]byte(sp.GetToken()))
	said := &fsm.Speaker{Agent: sp.GetAgent(), Inc: noun.Incarnation(sp.GetIncarnation()), TokenHash: hash[:]}
	g.reader.Read(func(st *fsm.View) {
		if a := st.AgentByName(said.Agent); a != nil && st.Lease(a.ID).Inc == a.Inc { // it has lived
			if no := st.Impostor(a, said); no.Code == noun.Denied {
				err = fault.Refusal(&no)
			}
		}
	})
	return err
}

// errUnheard says that this replica does not know a life (yet). It is never shown.
var errUnheard = errors.New("no such life is known here")

// lifeOn is nil when that life runs on the host, or has just ended there. Of a life that is over the
// sender is told so (law L6).
func (g *guard) lifeOn(key string, life who.Life) (err error) {
	g.reader.Read(func(st *fsm.View) {
		a := st.AgentByName(life.Agent)
		switch inc := noun.Incarnation(life.Incarnation); {
		case a == nil || inc > a.Inc:
			err = errUnheard
		case inc < a.Inc:
			err = fault.New(code.Superseded, "Incarnation %s of %s is over; a newer one has begun.", inc, a.Name)
		case !sameHost(st, a.Host, key) && (a.Host != 0 || a.LastExit == nil || !sameHost(st, a.LastExit.Host, key)):
			err = errForeign
		}
	})
	return err
}

// speaksOn is lifeOn for what a life says. Of one that nobody knows the state machine believes
// nothing, and it answers as it always did: a denial of a replica that is behind would end a life.
func (g *guard) speaksOn(key string, life who.Life) error {
	if err := g.lifeOn(key, life); err != errUnheard {
		return err
	}
	return nil
}

// readsOn is lifeOn for what a life reads: an invented one would read what it likes.
func (g *guard) readsOn(key string, life who.Life) error {
	err := g.lifeOn(key, life)
	switch {
	case err != errUnheard:
		return err
	case g.leader().Self:
		return errForeign
	}
	return fault.New(code.Unavailable, "This server has not heard of this life of %s yet; ask again.", life.Agent)
}

func sameHost(st *fsm.View, id noun.HostID, key string) bool {
	h := st.Host(id)
	return h != nil && h.Key == key
}

// ownLife is nil when a request speaks for that life and no other.
func (g *guard) ownLife(life who.Life, req any) error {
	if b, ok := req.(*vigilv1.BeatRequest); ok {
		var id noun.AgentID
		g.reader.Read(func(st *fsm.View) {
			if a := st.AgentByName(life.Agent); a != nil {
				id = a.ID
			}
		})
		if b.GetHost() != 0 || len(b.GetAgents()) != 1 || noun.AgentID(b.GetAgents()[0]) != id ||
			len(b.GetIncarnations()) != 1 || b.GetIncarnations()[0] != life.Incarnation {
			return errForeign
		}
		return nil
	}
	sp := speakerOf(req)
	if sp.GetAgent() != life.Agent || sp.GetIncarnation() != life.Incarnation {
		return errForeign
	}
	return nil
}

// withinRoom tells whether mail stays in the room of the agent that sends it. Its answer to a mail that it
// got goes wherever that came from. Of a mail that nobody knows, or that no agent has sent, the state
// machine answers.
func (g *guard) withinRoom(req any) (within bool) {
	m, ok := req.(*vigilv1.SendMailRequest)
	if !ok {
		return true
	}
	speaker := m.GetSpeaker().GetAgent()
	if m.GetTo() != "" {
		return roomIn(m.GetTo()) == roomIn(speaker)
	}
	g.reader.Read(func(st *fsm.View) {
		asked, a := st.Mail(noun.MailID(m.GetReplyTo())), st.AgentByName(speaker)
		within = asked == nil || asked.FromInc == 0 || roomIn(asked.From) == roomIn(speaker) ||
			a != nil && asked.To == a.ID
	})
	return within
}

// roomIn gives the room of an address or of the name of an agent.
func roomIn(name string) string {
	room, _, _ := strings.Cut(name, "/")
	return room
}

// readsOwn tells whether an agent asks for what is its own: names and states in its room, tasks that
// it holds or could claim, its mail.
func (g *guard) readsOwn(agent string, req any) (own bool) {
	switch r := req.(type) {
	case *vigilv1.GetTaskRequest:
		g.reader.Read(func(st *fsm.View) {
			t, a := st.Task(noun.TaskID(r.GetTask())), st.AgentByName(agent)
			own = t != nil && a != nil && (t.Holder == a.ID || t.Role == a.Role)
		})
		return own
	case *vigilv1.ListMailRequest:
		return r.GetAgent() == agent && (r.GetRoom() == "" || r.GetRoom() == roomIn(agent))
	case *vigilv1.GetMailRequest:
		g.reader.Read(func(st *fsm.View) {
			m, a := st.Mail(noun.MailID(r.GetMail())), st.AgentByName(agent)
			own = m != nil && a != nil && (m.To == a.ID || m.FromInc != 0 && m.From == agent)
		})
		return own
	case *vigilv1.GetOverseerRequest:
		return r.GetAgent() == agent
	}
	rooms := roomsOf(g.reader, req)
	return len(rooms) == 1 && rooms[0] == roomIn(agent)
}
