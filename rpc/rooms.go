package rpc

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// roomStep is how many rooms one hold of the read lock converts: a room brings its
// roles and their counts.
const roomStep = 100

// Rhythm of the wait for a room whose agents are created over several entries.
const (
	growLook  = 10 * time.Millisecond
	growBound = 10 * time.Second // then the answer says how many are left
)

// ApplyRoom creates or changes a room so that it has exactly these roles. It is answered once all
// agents are there, or growBound has passed.
func (f *fleet) ApplyRoom(ctx context.Context, r *vigilv1.ApplyRoomRequest) (*vigilv1.Room, error) {
	if r.GetDryRun() {
		return f.dryApply(r)
	}
	room, err := base.Write(ctx, f.Core, r, applyRoomCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Room {
		if room := st.Room(r.GetRoom()); room != nil {
			return shownRoom(st, room)
		}
		return &vigilv1.Room{Name: r.GetRoom(), Rev: out.Rev}
	})
	if err != nil {
		return nil, err
	}
	return f.grown(ctx, room), nil
}

// grown waits until all that a room declares is carried out, and shows the room. When that takes too
// long or ctx ends it shows what there is: it has been declared.
func (f *fleet) grown(ctx context.Context, room *vigilv1.Room) *vigilv1.Room {
	ctx, cancel := context.WithTimeout(ctx, growBound)
	defer cancel()
	for room.GetUnfinished() > 0 {
		select {
		case <-ctx.Done():
			return room
		case <-time.After(growLook):
		}
		f.Reader.Read(func(st *fsm.View) {
			if now := st.Room(room.GetName()); now != nil {
				room = shownRoom(st, now)
			} else {
				room.Unfinished = 0
			}
		})
	}
	return room
}

// shownRoom is a room with the agents that still live by what was declared before, which takes a
// look at each.
func shownRoom(st *fsm.View, r *noun.Room) *vigilv1.Room {
	out := form.Room(st, r)
	for _, role := range out.GetRoles() {
		if known := st.RoleByName(r.Name, role.GetSpec().GetName()); known != nil {
			role.Outdated = st.OutdatedOf(known)
		}
	}
	return out
}

// DeleteRoom stops the room's agents, cancels its tasks and removes it.
func (f *fleet) DeleteRoom(ctx context.Context, r *vigilv1.DeleteRoomRequest) (*vigilv1.DeleteRoomResponse, error) {
	if r.GetDryRun() {
		return f.dryDelete(r)
	}
	return base.Write(ctx, f.Core, r, deleteRoomCmd, func(st *fsm.View, _ *noun.Outcome) *vigilv1.DeleteRoomResponse {
		return &vigilv1.DeleteRoomResponse{Pending: st.Room(r.GetRoom()) != nil}
	})
}

// GetRoom shows one room with its roles and their counts.
func (f *fleet) GetRoom(_ context.Context, r *vigilv1.GetRoomRequest) (*vigilv1.Room, error) {
	var c form.Checks
	if c.Name("room", r.GetRoom()); c.Err != nil {
		return nil, c.Err
	}
	var err error
	out := base.Read(f.Core, func(st *fsm.View) *vigilv1.Room {
		if room := st.Room(r.GetRoom()); room != nil {
			return shownRoom(st, room)
		}
		err = base.NoRoom(st, r.GetRoom())
		return nil
	})
	return out, err
}

// ListRooms pages through the rooms by name.
func (f *fleet) ListRooms(ctx context.Context, r *vigilv1.ListRoomsRequest) (*vigilv1.ListRoomsResponse, error) {
	var c form.Checks
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	if c.Err != nil {
		return nil, c.Err
	}
	resp := &vigilv1.ListRoomsResponse{}
	for at := r.GetAfter(); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more := false
		f.Reader.Read(func(st *fsm.View) {
			seen := 0
			for room := range st.Rooms(at) {
				if more = seen == roomStep || len(resp.Rooms) == limit; more {
					return
				}
				seen, at = seen+1, room.Name
				resp.Rooms = append(resp.Rooms, form.Room(st, room))
			}
		})
		if !more {
			return resp, nil
		}
		if len(resp.Rooms) == limit {
			resp.More, resp.Next = true, at
			return resp, nil
		}
	}
}
