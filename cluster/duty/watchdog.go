package duty

import (
	"context"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// settingsLook is how soon a change of the watchdog's settings is seen at the latest.
const settingsLook = time.Second

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

// watchCounts are written by the watchdog and read by anybody.
type watchCounts struct {
	checks, checked, warned, canceled, errors atomic.Uint64
	lastAt, last, total                       atomic.Int64
}

// WatchFigures are what the conversation watchdog has done since the server started.
type WatchFigures struct {
	Checks   uint64 // passes
	Checked  uint64 // active rooms that the passes covered
	Warned   uint64
	Canceled uint64
	Errors   uint64        // plans that could not be submitted
	LastAt   time.Time     // of the last pass; zero: none
	Last     time.Duration // of the last pass, waiting for the grace not counted
	Total    time.Duration // of all
}

// WatchFigures returns the counts. Safe for concurrent use.
func (d *Duty) WatchFigures() WatchFigures {
	c := &d.watched
	f := WatchFigures{Checks: c.checks.Load(), Checked: c.checked.Load(), Warned: c.warned.Load(),
		Canceled: c.canceled.Load(), Errors: c.errors.Load(), Last: time.Duration(c.last.Load()),
		Total: time.Duration(c.total.Load())}
	if at := c.lastAt.Load(); at != 0 {
		f.LastAt = time.Unix(0, at)
	}
	return f
}

// watch is the conversation watchdog of one stint: a first pass after the start delay, then
// one each interval. A pass ends when the grace of all that it warned is over, so passes
// never overlap.
func (d *Duty) watch(ctx context.Context) {
	began, first := time.Now(), true
	defer func() {
		if f := d.WatchFigures(); !first {
			d.log.Info("conversation watchdog stops", "checks", f.Checks, "checked", f.Checked, "warned",
				f.Warned, "canceled", f.Canceled, "errors", f.Errors)
		}
	}()
	for {
		set := d.watchSettings()
		wait := set.Interval
		if first {
			wait = set.StartDelay
		}
		if wait -= time.Since(began); wait > 0 {
			if !pause(ctx, min(wait, settingsLook)) {
				return
			}
			continue
		}
		if first {
			d.log.Info("conversation watchdog starts", "enabled", set.Enabled, "interval", set.Interval,
				"threshold", set.Threshold)
		}
		began, first = time.Now(), false
		d.pass(ctx)
		if ctx.Err() != nil {
			return
		}
	}
}

func (d *Duty) watchSettings() (set noun.WatchdogSettings) {
	d.cfg.Replica.Read(func(s *fsm.View) { set = s.Settings().Watchdog })
	return set
}

// pause sleeps; false: ctx ended first.
func pause(ctx context.Context, span time.Duration) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// pass warns what is silent and cancels what stays so.
func (d *Duty) pass(ctx context.Context) {
	began, waited := time.Now(), time.Duration(0)
	active, there := d.clockIn(ctx)
	if !there {
		return
	}
	d.watched.checks.Add(1)
	d.watched.checked.Add(uint64(active))
	d.watched.lastAt.Store(began.UnixNano())
	d.log.Debug("looking for silent rooms", "active", active)
	canceled := 0
	for warn := true; ; warn = false {
		n, rest := d.look(ctx, warn)
		canceled += n
		if rest <= 0 {
			break
		}
		waited += rest
		if !pause(ctx, rest) {
			return
		}
		if _, there = d.clockIn(ctx); !there {
			break
		}
	}
	took := time.Since(began) - waited
	d.watched.last.Store(int64(took))
	d.watched.total.Add(int64(took))
	d.log.Debug("looked for silent rooms", "active", active, "canceled", canceled, "took", took)
}

// clockIn gives the number of active rooms, once the state has the clock of now. False:
// there is nothing to look at, or the state could not be written.
func (d *Duty) clockIn(ctx context.Context) (active int, there bool) {
	d.cfg.Replica.Read(func(s *fsm.View) { there = s.Settings().Watchdog.Enabled && s.OpenTasks() > 0 })
	if !there {
		return 0, false
	}
	if err := d.cfg.Replica.Barrier(ctx); err != nil {
		d.failed(ctx, err)
		return 0, false
	}
	d.cfg.Replica.Read(func(s *fsm.View) { active = s.ActiveRooms() })
	return active, true
}

// failed counts what could not be written.
func (d *Duty) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		d.watched.errors.Add(1)
		d.log.Warn("conversation watchdog could not write", "error", err)
	}
}

// look makes and submits one plan. Rest is when to look again in this pass; 0: not.
func (d *Duty) look(ctx context.Context, warn bool) (canceled int, rest time.Duration) {
	var orders []fsm.Command
	names := map[noun.RoomID]string{}
	d.cfg.Replica.Read(func(s *fsm.View) {
		var next noun.Time
		if orders, next = Silent(s, warn); next != 0 {
			rest = max(next.Sub(s.Clock()), time.Millisecond)
		}
		for _, c := range orders {
			if c, ok := c.(fsm.CancelIdleRoom); ok {
				names[c.Room] = s.RoomByID(c.Room).Name
			}
		}
	})
	if len(orders) == 0 {
		return 0, rest
	}
	reqs, outs := make([]fsm.Request, len(orders)), make([]noun.Outcome, len(orders))
	for i, c := range orders {
		reqs[i] = fsm.Request{Planned: true, Cmd: c}
	}
	if err := d.cfg.Replica.SubmitAll(ctx, reqs, outs); err != nil {
		d.failed(ctx, err)
		return 0, 0 // the next pass sees what became of it
	}
	for i, c := range orders {
		if outs[i].Code != noun.OK {
			d.log.Debug("silent room: refused", "code", outs[i].Code, "detail", outs[i].Detail)
			continue
		}
		switch c := c.(type) {
		case fsm.WarnRoom:
			d.watched.warned.Add(1)
		case fsm.CancelIdleRoom:
			canceled++
			d.watched.canceled.Add(1)
			d.log.Info("canceled a silent room", "room", names[c.Room], "tasks", outs[i].Count)
		}
	}
	return canceled, rest
}
