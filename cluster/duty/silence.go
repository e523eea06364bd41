package duty

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// silencePace is that of the conversation watchdog: a first pass after the start delay, then one
// each interval. A pass warns what is silent, waits for the grace and cancels what stayed so.
func silencePace(set *noun.Settings) pace {
	w := &set.Watchdog
	return pace{first: w.StartDelay, every: w.Interval,
		tell: []any{"enabled", w.Enabled, "interval", w.Interval, "threshold", w.Threshold}}
}

// planSilence plans one look at silent rooms. Only the first of a pass warns.
func planSilence(s *fsm.View, l look) (p plan) {
	if !l.again {
		p.visited = s.ActiveRooms()
	}
	orders, next := Silent(s, !l.again)
	for _, c := range orders {
		o := Order{Command: c}
		if c, ok := c.(fsm.CancelIdleRoom); ok {
			o.Name = s.RoomByID(c.Room).Name
		}
		p.orders = append(p.orders, o)
	}
	if next != 0 {
		p.more, p.after = true, max(next.Sub(s.Clock()), time.Millisecond)
	}
	return p
}

// Silent plans for rooms in which nothing is done or said for too long, those first that
// are silent for the longest time: a warning, and when the grace has passed since, the
// cancellation. One plan has at most as many orders as rooms may be canceled within an
// interval. With warn false it only cancels: nobody is warned between two passes.
//
// Next is when, in cluster time, there is more to do for rooms that were warned; 0: nothing.
func Silent(s *fsm.View, warn bool) (orders []fsm.Command, next noun.Time) {
	set, w, now := s.Settings().Watchdog, s.Watchdog(), s.Clock()
	left, full := int(set.MaxCancellations), w.WindowAt.Add(set.Interval)
	if w.InWindow > 0 && now < full {
		left -= int(w.InWindow)
	}
	seen := 0
	for rm, q := range s.StalledRooms() {
		if seen++; seen > int(set.MaxCancellations) {
			break
		}
		at := noun.Time(0)
		switch {
		case q.State == fsm.RoomStalled && warn:
			orders = append(orders, fsm.WarnRoom{Room: rm.ID, Active: q.Active})
			at = now.Add(set.Grace)
		case q.State == fsm.RoomStalled:
			continue
		case q.CancelAt > now:
			at = q.CancelAt
		case left > 0:
			left--
			orders = append(orders, fsm.CancelIdleRoom{Room: rm.ID, Active: q.Active, Warned: rm.Warned})
		default:
			at = full
		}
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return orders, next
}

// clockIn brings the clock of now to the state. False: there is nothing to look at, or the
// state could not be written.
func (d *Duty) clockIn(ctx context.Context) (there bool, err error) {
	d.cfg.Replica.Read(func(s *fsm.View) { there = s.Settings().Watchdog.Enabled && s.OpenTasks() > 0 })
	if there {
		err = d.cfg.Replica.Barrier(ctx)
	}
	return there, err
}

// tellCanceled logs what was canceled.
func (d *Duty) tellCanceled(_ context.Context, _ *counts, orders []Order, outs []noun.Outcome) {
	for i, o := range orders {
		if _, ok := o.Command.(fsm.CancelIdleRoom); ok && outs[i].Code == noun.OK {
			d.log.Info("canceled a silent room", "room", o.Name, "tasks", outs[i].Count)
		}
	}
}
