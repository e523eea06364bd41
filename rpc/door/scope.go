package door

import (
	"slices"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// everywhere is the room of a request that is about no single one.
const everywhere = ""

// roomsOf gives the rooms that a request is about; [everywhere] when it names none, or something of
// which the state does not know the room. More than one: the caller needs a right in each.
func roomsOf(r Reader, req any) []string {
	var rooms []string
	add := func(room string) {
		if !slices.Contains(rooms, room) {
			rooms = append(rooms, room)
		}
	}
	for _, name := range named(req) {
		room, _, _ := strings.Cut(name, "/")
		add(room)
	}
	if of := numbered(req); of != nil {
		r.Read(func(st *fsm.View) { add(of(st)) })
	}
	if len(rooms) == 0 {
		rooms = append(rooms, everywhere)
	}
	return rooms
}

// named gives the rooms and the agents, room/role, that a request names.
func named(req any) (names []string) {
	add := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	if r, ok := req.(interface{ GetSpeaker() *vigilv1.Speaker }); ok {
		add(r.GetSpeaker().GetAgent())
	}
	if r, ok := req.(interface{ GetRoom() string }); ok {
		add(r.GetRoom())
	}
	if r, ok := req.(interface{ GetAgent() string }); ok {
		add(r.GetAgent())
	}
	if r, ok := req.(interface{ GetScope() string }); ok {
		add(r.GetScope())
	}
	if r, ok := req.(*vigilv1.SendMailRequest); ok {
		add(r.GetTo())
	}
	return names
}

// numbered gives what finds the room of the thing that a request names by its number; nil when it
// names none. Where the room stands in the request too, that one does.
func numbered(req any) func(*fsm.View) string {
	switch r := req.(type) {
	case *vigilv1.GetTaskRequest:
		return roomOfTask(r.GetTask())
	case *vigilv1.CancelTaskRequest:
		return roomOfTask(r.GetTask())
	case *vigilv1.RetryTaskRequest:
		return roomOfTask(r.GetTask())
	case *vigilv1.UnquarantineTaskRequest:
		return roomOfTask(r.GetTask())
	case *vigilv1.GetEscalationRequest:
		return roomOfEscalation(r.GetEscalation())
	case *vigilv1.AckEscalationRequest:
		return roomOfEscalation(r.GetEscalation())
	case *vigilv1.CloseEscalationRequest:
		return roomOfEscalation(r.GetEscalation())
	case *vigilv1.GetMailRequest:
		return roomOfMail(r.GetMail())
	case *vigilv1.SendMailRequest:
		if r.GetTo() == "" && r.GetReplyTo() != 0 { // it goes to who has sent what it answers
			return roomOfMail(r.GetReplyTo())
		}
	}
	return nil
}

func roomName(st *fsm.View, id noun.RoomID) string {
	if room := st.RoomByID(id); room != nil {
		return room.Name
	}
	return everywhere
}

func roomOfTask(number uint64) func(*fsm.View) string {
	return func(st *fsm.View) string {
		if t := st.Task(noun.TaskID(number)); t != nil {
			return roomName(st, t.Room)
		}
		return everywhere
	}
}

func roomOfMail(number uint64) func(*fsm.View) string {
	return func(st *fsm.View) string {
		if m := st.Mail(noun.MailID(number)); m != nil {
			return roomName(st, m.Room)
		}
		return everywhere
	}
}

func roomOfEscalation(number uint64) func(*fsm.View) string {
	return func(st *fsm.View) string {
		if e := st.Escalation(noun.EscalationID(number)); e != nil {
			return e.Room
		}
		return everywhere
	}
}
