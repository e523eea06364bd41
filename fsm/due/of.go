package due

import (
	"strconv"

	"vigil/fsm/noun"
)

// Of is what a row is of: one object of the state. The zero Of is the cluster.
type Of struct {
	sort sort
	id   uint64
}

type sort uint8

const (
	ofCluster sort = iota
	ofAgent
	ofTask
	ofHost
	ofRoom
	ofMail
	ofEscalation
	ofSession
	ofRole
)

// OfAgent says that a row is of an agent.
func OfAgent(id noun.AgentID) Of { return Of{ofAgent, uint64(id)} }

// OfTask says that a row is of a task.
func OfTask(id noun.TaskID) Of { return Of{ofTask, uint64(id)} }

// OfHost says that a row is of a host.
func OfHost(id noun.HostID) Of { return Of{ofHost, uint64(id)} }

// OfRoom says that a row is of a room.
func OfRoom(id noun.RoomID) Of { return Of{ofRoom, uint64(id)} }

// OfRole says that a row is of a role.
func OfRole(id noun.RoleID) Of { return Of{ofRole, uint64(id)} }

// OfMail says that a row is of a mail.
func OfMail(id noun.MailID) Of { return Of{ofMail, uint64(id)} }

// OfEscalation says that a row is of an escalation.
func OfEscalation(id noun.EscalationID) Of { return Of{ofEscalation, uint64(id)} }

// OfSession says that a row is of a client's session.
func OfSession(id noun.SessionID) Of { return Of{ofSession, uint64(id)} }

// Agent gives the agent that the row is of; 0: it is of something else.
func (o Of) Agent() noun.AgentID { return noun.AgentID(o.of(ofAgent)) }

// Host gives the host that the row is of; 0: it is of something else.
func (o Of) Host() noun.HostID { return noun.HostID(o.of(ofHost)) }

// Room gives the room that the row is of; 0: it is of something else.
func (o Of) Room() noun.RoomID { return noun.RoomID(o.of(ofRoom)) }

// Role gives the role that the row is of; 0: it is of something else.
func (o Of) Role() noun.RoleID { return noun.RoleID(o.of(ofRole)) }

func (o Of) of(s sort) uint64 {
	if o.sort == s {
		return o.id
	}
	return 0
}

// String names the object by its number: "task 7". The cluster is "cluster".
func (o Of) String() string {
	if o.sort == ofCluster {
		return sortNames[ofCluster]
	}
	return sortNames[o.sort] + " " + strconv.FormatUint(o.id, 10)
}

var sortNames = [...]string{"cluster", "agent", "task", "host", "room", "mail", "escalation", "session", "role"}
