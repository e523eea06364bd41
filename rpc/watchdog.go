package rpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// maxStalled is how many stalled rooms one answer names.
const maxStalled = 100

// WatchdogStats are what this server's conversation watchdog has done since it started.
type WatchdogStats struct {
	Checks, Checked, Warned, Canceled, Errors uint64
	LastCheck                                 time.Time // zero: there was none
	LastDuration, TotalDuration               time.Duration
}

func (c *core) watchdogStats() *vigilv1.WatchdogStats {
	if c.watchdog == nil {
		return &vigilv1.WatchdogStats{}
	}
	s := c.watchdog()
	out := &vigilv1.WatchdogStats{Checks: s.Checks, Checked: s.Checked, Warned: s.Warned,
		Canceled: s.Canceled, Errors: s.Errors, LastDuration: lasting(s.LastDuration),
		TotalDuration: lasting(s.TotalDuration)}
	if !s.LastCheck.IsZero() {
		out.LastCheck = timestamppb.New(s.LastCheck)
	}
	return out
}

func reopenRoomCmd(r *vigilv1.ReopenRoomRequest) (fsm.Command, error) {
	var c checks
	c.name("room", r.GetRoom())
	c.line("by", r.GetBy(), maxWho)
	return fsm.ReopenRoom{Room: r.GetRoom(), By: r.GetBy(), IfRev: r.GetIfRev()}, c.err
}

func setRoomWatchCmd(r *vigilv1.SetRoomWatchRequest) (fsm.Command, error) {
	var c checks
	c.name("room", r.GetRoom())
	c.line("by", r.GetBy(), maxWho)
	return fsm.SetRoomWatch{Room: r.GetRoom(), RoomWatch: c.roomWatch(r.GetWatch()), By: r.GetBy(),
		IfRev: r.GetIfRev()}, c.err
}

// roomWatch validates what a room sets for the watchdog.
func (c *checks) roomWatch(w *vigilv1.RoomWatch) noun.RoomWatch {
	out := noun.RoomWatch{IdleLimit: c.duration("watch.idle_limit", w.GetIdleLimit()),
		Deadline: c.duration("watch.deadline", w.GetDeadline()), Disabled: w.GetDisabled()}
	if err := out.Check(); err != nil {
		c.fail("%v.", err)
	}
	return out
}

// ReopenRoom brings back what the watchdog canceled last in a room.
func (f *fleet) ReopenRoom(ctx context.Context, r *vigilv1.ReopenRoomRequest) (*vigilv1.ReopenRoomResponse, error) {
	return write(ctx, f.core, r, reopenRoomCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.ReopenRoomResponse {
		resp := &vigilv1.ReopenRoomResponse{Tasks: out.Count}
		if room := st.Room(r.GetRoom()); room != nil {
			resp.Room = convertRoom(st, room)
		}
		return resp
	})
}

// SetRoomWatch replaces what a room sets for the watchdog.
func (f *fleet) SetRoomWatch(ctx context.Context, r *vigilv1.SetRoomWatchRequest) (*vigilv1.Room, error) {
	return write(ctx, f.core, r, setRoomWatchCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Room {
		if room := st.Room(r.GetRoom()); room != nil {
			return convertRoom(st, room)
		}
		return &vigilv1.Room{Name: r.GetRoom(), Rev: out.Rev}
	})
}

// GetWatchdog tells what the conversation watchdog sees and has done.
func (f *fleet) GetWatchdog(context.Context, *vigilv1.GetWatchdogRequest) (*vigilv1.GetWatchdogResponse, error) {
	out := read(f.core, func(st *fsm.View) *vigilv1.GetWatchdogResponse {
		w := st.Watchdog()
		out := &vigilv1.GetWatchdogResponse{Enabled: st.Settings().Watchdog.Enabled, ActiveRooms: uint32(st.ActiveRooms()),
			WarnedTotal: w.Warned, CanceledTotal: w.Canceled}
		for rm := range st.StalledRooms() {
			if out.Stalled = append(out.Stalled, rm.Name); len(out.Stalled) == maxStalled {
				break
			}
		}
		for _, x := range slices.Backward(w.History) {
			out.History = append(out.History, convertCancellation(&x))
		}
		return out
	})
	out.Stats = f.watchdogStats()
	return out, nil
}

func convertCancellation(x *noun.Cancellation) *vigilv1.Cancellation {
	return &vigilv1.Cancellation{Room: x.Room, At: wall(x.Wall), ActiveAt: wall(x.ActiveAt), Silent: lasting(x.Silent),
		Reason: x.Reason, Tasks: x.Tasks, Roles: x.Roles, Hosts: x.Hosts}
}

// watchedRoom adds what the conversation watchdog knows of a room.
func watchedRoom(st *fsm.View, r *noun.Room, out *vigilv1.Room) {
	if r.Watch != (noun.RoomWatch{}) {
		out.Watch = &vigilv1.RoomWatch{IdleLimit: lasting(r.Watch.IdleLimit),
			Deadline: lasting(r.Watch.Deadline), Disabled: r.Watch.Disabled}
	}
	if r.Canceled != nil {
		out.Canceled = convertCancellation(r.Canceled)
	}
	q, now := st.Quiet(r), st.Clock()
	out.Quiet = &vigilv1.RoomQuiet{State: string(q.State), Why: q.Why, ActiveAt: wall(r.ActiveAt), Limit: lasting(q.Limit)}
	if q.State == fsm.RoomUnwatched {
		return
	}
	out.Quiet.Silent = durationpb.New(now.Sub(q.Active))
	if q.DueAt != 0 {
		out.Quiet.DueIn, out.Quiet.Reason = durationpb.New(max(0, q.DueAt.Sub(now))), q.Reason
	}
	if q.State == fsm.RoomStalling {
		out.Quiet.CancelIn = durationpb.New(max(0, q.CancelAt.Sub(now)))
	}
}

// GetHealth tells how this server is; it needs no leader.
func (c *clusterService) GetHealth(context.Context, *vigilv1.GetHealthRequest) (*vigilv1.GetHealthResponse, error) {
	l := c.reader.Leader()
	out := &vigilv1.GetHealthResponse{Status: "healthy", Server: c.self, Leader: l.Self,
		Watchdog: &vigilv1.HealthWatchdog{Stats: c.watchdogStats()}}
	out.Watchdog.Enabled = read(c.core, func(st *fsm.View) bool { return st.Settings().Watchdog.Enabled })
	if l.ID == "" {
		out.Status = "no leader is known"
	}
	if c.health != nil {
		if err := c.health.Ready(); err != nil {
			out.Status = err.Error()
		}
	}
	return out, nil
}
