package rpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
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

// watchdogForm gives what the conversation watchdog of this server has done, as answers show it. stats may
// be nil: zeros.
func watchdogForm(stats func() WatchdogStats) func() *vigilv1.WatchdogStats {
	if stats == nil {
		return func() *vigilv1.WatchdogStats { return &vigilv1.WatchdogStats{} }
	}
	return func() *vigilv1.WatchdogStats {
		s := stats()
		out := &vigilv1.WatchdogStats{Checks: s.Checks, Checked: s.Checked, Warned: s.Warned,
			Canceled: s.Canceled, Errors: s.Errors, LastDuration: form.Lasting(s.LastDuration),
			TotalDuration: form.Lasting(s.TotalDuration)}
		if !s.LastCheck.IsZero() {
			out.LastCheck = timestamppb.New(s.LastCheck)
		}
		return out
	}
}

func reopenRoomCmd(r *vigilv1.ReopenRoomRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("room", r.GetRoom())
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.ReopenRoom{Room: r.GetRoom(), By: r.GetBy(), IfRev: r.GetIfRev()}, c.Err
}

func setRoomWatchCmd(r *vigilv1.SetRoomWatchRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("room", r.GetRoom())
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.SetRoomWatch{Room: r.GetRoom(), RoomWatch: c.RoomWatch(r.GetWatch()), By: r.GetBy(),
		IfRev: r.GetIfRev()}, c.Err
}

// ReopenRoom brings back what the watchdog canceled last in a room.
func (f *fleet) ReopenRoom(ctx context.Context, r *vigilv1.ReopenRoomRequest) (*vigilv1.ReopenRoomResponse, error) {
	return base.Write(ctx, f.Core, r, reopenRoomCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.ReopenRoomResponse {
		resp := &vigilv1.ReopenRoomResponse{Tasks: out.Count}
		if room := st.Room(r.GetRoom()); room != nil {
			resp.Room = form.Room(st, room)
		}
		return resp
	})
}

// SetRoomWatch replaces what a room sets for the watchdog.
func (f *fleet) SetRoomWatch(ctx context.Context, r *vigilv1.SetRoomWatchRequest) (*vigilv1.Room, error) {
	return base.Write(ctx, f.Core, r, setRoomWatchCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Room {
		if room := st.Room(r.GetRoom()); room != nil {
			return form.Room(st, room)
		}
		return &vigilv1.Room{Name: r.GetRoom(), Rev: out.Rev}
	})
}

// GetWatchdog tells what the conversation watchdog sees and has done.
func (f *fleet) GetWatchdog(context.Context, *vigilv1.GetWatchdogRequest) (*vigilv1.GetWatchdogResponse, error) {
	out := base.Read(f.Core, func(st *fsm.View) *vigilv1.GetWatchdogResponse {
		w := st.Watchdog()
		out := &vigilv1.GetWatchdogResponse{Enabled: st.Settings().Watchdog.Enabled,
			ActiveRooms: uint32(st.ActiveRooms()),
			WarnedTotal: w.Warned, CanceledTotal: w.Canceled}
		for rm := range st.StalledRooms() {
			if out.Stalled = append(out.Stalled, rm.Name); len(out.Stalled) == maxStalled {
				break
			}
		}
		for _, x := range slices.Backward(w.History) {
			out.History = append(out.History, form.Cancellation(&x))
		}
		return out
	})
	out.Stats = f.watchdog()
	return out, nil
}
