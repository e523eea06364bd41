package record

import (
	"vigil/fsm"
)

// rooms has the records about rooms, tasks, and what people ask of agents.
var rooms = []kind{
	of(20, func(w *wire, c *fsm.ApplyRoom) {
		w.str(1, &c.Room)
		list(w, 2, &c.Roles, roleSpec)
		w.str(3, &c.By)
		uns(w, 4, &c.IfRev)
		list(w, 5, &c.Watch, roomWatch)
		w.bool(6, &c.Now)
		w.bool(7, &c.Gentle)
		list(w, 8, &c.Spend, spendLimit)
	}),
	of(21, func(w *wire, c *fsm.DeleteRoom) {
		w.str(1, &c.Room)
		w.str(2, &c.By)
		uns(w, 3, &c.IfRev)
		w.bool(4, &c.Gentle)
	}),
	of(22, func(w *wire, c *fsm.CreateTask) {
		w.str(1, &c.Room)
		w.str(2, &c.Role)
		w.str(3, &c.Title)
		w.str(4, &c.Text)
		w.str(5, &c.By)
		sig(w, 6, &c.Priority)
		sig(w, 50, &c.Expect)
		sig(w, 51, &c.After)
		w.str(52, (*string)(&c.Trace))
		w.str(53, &c.Key)
	}),
	of(23, func(w *wire, c *fsm.CancelTask) {
		uns(w, 1, &c.Task)
		uns(w, 2, &c.IfRev)
		w.str(3, &c.By)
		w.str(4, &c.Reason)
	}),
	of(24, func(w *wire, c *fsm.RetryTask) {
		uns(w, 1, &c.Task)
		uns(w, 2, &c.IfRev)
		w.str(3, &c.By)
	}),
	of(25, func(w *wire, c *fsm.UnquarantineTask) {
		uns(w, 1, &c.Task)
		uns(w, 2, &c.IfRev)
		w.str(3, &c.By)
	}),
	of(40, func(w *wire, c *fsm.SetAgent) {
		w.str(1, &c.Agent)
		w.bool(2, &c.Stop)
		w.str(3, &c.By)
		uns(w, 4, &c.IfRev)
		w.bool(5, &c.Fresh)
		w.str(6, &c.Reason)
		sig(w, 7, &c.For)
	}),
	of(41, func(w *wire, c *fsm.RestartAgent) {
		w.str(1, &c.Agent)
		w.str(2, &c.By)
		w.bool(3, &c.Fresh)
		w.str(4, &c.Reason)
		uns(w, 5, &c.IfRev)
	}),
	of(42, func(w *wire, c *fsm.SetPause) {
		w.str(1, &c.Scope)
		w.bool(2, &c.Pause)
		w.str(3, &c.By)
		w.str(4, &c.Reason)
		sig(w, 5, &c.For)
	}),
	of(43, func(w *wire, c *fsm.UnparkAgent) {
		w.str(1, &c.Agent)
		w.str(2, &c.By)
		uns(w, 3, &c.IfRev)
	}),
	of(44, func(w *wire, c *fsm.ReleaseBrake) { w.str(1, &c.By) }),
	of(90, func(w *wire, c *fsm.WarnRoom) {
		uns(w, 1, &c.Room)
		sig(w, 2, &c.Active)
	}),
	of(91, func(w *wire, c *fsm.CancelIdleRoom) {
		uns(w, 1, &c.Room)
		sig(w, 2, &c.Active)
		sig(w, 3, &c.Warned)
	}),
	of(92, func(w *wire, c *fsm.ReopenRoom) {
		w.str(1, &c.Room)
		w.str(2, &c.By)
		uns(w, 3, &c.IfRev)
	}),
	of(93, func(w *wire, c *fsm.SetRoomWatch) {
		w.str(1, &c.Room)
		w.str(2, &c.By)
		uns(w, 3, &c.IfRev)
		sig(w, 4, &c.IdleLimit)
		sig(w, 5, &c.Deadline)
		w.bool(6, &c.Disabled)
		uns(w, 7, &c.Untaken)
	}),
}
