package rpc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// maxPlanned bounds the agents that the plan of a role names.
const maxPlanned = 100

// dryApply checks all that the change itself would, and answers with the room as it is and
// with what would happen.
func (f *fleet) dryApply(r *vigilv1.ApplyRoomRequest) (*vigilv1.Room, error) {
	cmd, err := applyRoomCmd(r)
	if err != nil {
		return nil, err
	}
	apply := cmd.(fsm.ApplyRoom)
	var out noun.Outcome
	room := base.Read(f.Core, func(st *fsm.View) *vigilv1.Room {
		if out = st.CheckRoom(&apply); out.Code != noun.OK {
			return nil
		}
		answer, was, spend := &vigilv1.Room{Name: r.GetRoom()}, &vigilv1.RoomWatch{}, &vigilv1.Budget{}
		if room := st.Room(r.GetRoom()); room != nil {
			answer = form.Room(st, room)
			was = answer.GetWatch()
			if b := form.Budget(room.Spend); b != nil {
				spend = b
			}
		}
		plan := st.PlanApply(&apply)
		answer.Plan = convertRoomPlan(st, &plan)
		answer.Plan.Warnings = unknownRunners(st, apply.Roles)
		if r.GetWatch() != nil {
			answer.Plan.Changes = differences("watchdog ", was, r.GetWatch())
		}
		if r.GetBudget() != nil {
			answer.Plan.Changes = append(answer.Plan.Changes, differences("budget ", spend, r.GetBudget())...)
		}
		return answer
	})
	if out.Code != noun.OK {
		return nil, fault.Refusal(&out)
	}
	return room, nil
}

// unknownRunners warns of roles whose runner no host has. Without any host there is nothing to
// compare with.
func unknownRunners(st *fsm.View, roles []noun.RoleSpec) (out []string) {
	known := map[string]bool{}
	for h := range st.Hosts() {
		if h.State == noun.HostLeft {
			continue
		}
		known[""] = true // of a role by hand
		for _, runner := range h.Runners {
			known[runner] = true
		}
	}
	for i := range roles {
		if r := &roles[i]; len(known) > 0 && !known[r.Runner] {
			names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool { return n == "" })
			out = append(out, fmt.Sprintf("role %s: no host has runner %s, so nothing is started; hosts have %s",
				r.Name, fault.Quote(r.Runner), someOf(names)))
		}
	}
	return out
}

// someOf names at most ten.
func someOf(names []string) string {
	const most = 10
	switch n := len(names); {
	case n == 0:
		return "no runners"
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// dryDelete tells what deleting a room would do.
func (f *fleet) dryDelete(r *vigilv1.DeleteRoomRequest) (*vigilv1.DeleteRoomResponse, error) {
	cmd, err := deleteRoomCmd(r)
	if err != nil {
		return nil, err
	}
	remove := cmd.(fsm.DeleteRoom)
	var out noun.Outcome
	answer := base.Read(f.Core, func(st *fsm.View) *vigilv1.DeleteRoomResponse {
		if out = st.CheckDelete(&remove); out.Code != noun.OK {
			return nil
		}
		plan := st.PlanDelete(r.GetRoom())
		return &vigilv1.DeleteRoomResponse{Pending: true, Plan: convertRoomPlan(st, &plan)}
	})
	if out.Code != noun.OK {
		return nil, fault.Refusal(&out)
	}
	return answer, nil
}

func convertRoomPlan(st *fsm.View, p *fsm.RoomPlan) *vigilv1.RoomPlan {
	out := &vigilv1.RoomPlan{Created: p.New, Deleted: p.Gone}
	out.AtWork, out.Canceled = st.Harm(p)
	for i := range p.Roles {
		out.Roles = append(out.Roles, convertRolePlan(st, &p.Roles[i]))
	}
	return out
}

func convertRolePlan(st *fsm.View, p *fsm.RolePlan) *vigilv1.RolePlan {
	out := &vigilv1.RolePlan{Role: p.Name, Starts: p.Starts, Ends: uint32(len(p.Ends)),
		Finishes: uint32(len(p.Finishes)), Canceled: p.Canceled}
	switch {
	case p.Was == nil:
		out.Kind = "created"
	case p.Now == nil:
		out.Kind = "deleted"
	default:
		out.Kind, out.Changes = "unchanged", differences("", form.RoleSpec(p.Was), form.RoleSpec(p.Now))
		if len(out.Changes) > 0 {
			out.Kind = "changed"
		}
	}
	for i, list := range [][]noun.AgentID{p.Finishes, p.Ends} {
		for _, id := range list {
			a := st.Agent(id)
			out.Agents = append(out.Agents, &vigilv1.AgentEnd{Agent: a.Name, Task: uint64(a.Task), Finishes: i == 0})
		}
	}
	slices.SortStableFunc(out.Agents, func(a, b *vigilv1.AgentEnd) int {
		return cmp.Compare(min(b.GetTask(), 1), min(a.GetTask(), 1))
	})
	out.Agents = out.Agents[:min(len(out.Agents), maxPlanned)]
	return out
}

// differences says which fields of two messages of one kind differ, and how.
func differences(prefix string, was, now proto.Message) (list []string) {
	a, b := was.ProtoReflect(), now.ProtoReflect()
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if a.Has(fd) != b.Has(fd) || !a.Get(fd).Equal(b.Get(fd)) {
			list = append(list, fmt.Sprintf("%s%s %s -> %s", prefix, fd.Name(), shownField(a, fd), shownField(b, fd)))
		}
	}
	return list
}

// shownField is the value of a field for people, in one line.
func shownField(m protoreflect.Message, fd protoreflect.FieldDescriptor) string {
	if !m.Has(fd) {
		return "none"
	}
	switch v := m.Get(fd); {
	case fd.IsMap(), fd.IsList():
		alone := m.New()
		alone.Set(fd, v)
		// the library adds spaces at will
		text := strings.Join(strings.Fields(protojson.MarshalOptions{}.Format(alone.Interface())), " ")
		_, text, _ = strings.Cut(strings.TrimSuffix(text, "}"), ":")
		return strings.TrimSpace(text)
	case fd.Message() != nil:
		if d, ok := v.Message().Interface().(*durationpb.Duration); ok {
			return d.AsDuration().String()
		}
		return strings.Join(strings.Fields(protojson.MarshalOptions{}.Format(v.Message().Interface())), " ")
	default:
		return v.String()
	}
}
