package record

import (
	"vigil/fsm"
)

// hosts has the records about hosts and their reports.
var hosts = []kind{
	of(50, func(w *wire, c *fsm.RegisterHost) {
		w.str(1, &c.Key)
		w.str(2, &c.Name)
		w.str(3, &c.Boot)
		w.str(4, &c.Version)
		w.strs(5, &c.Runners)
		list(w, 6, &c.Labels, kv)
		uns(w, 7, &c.Capacity)
		list(w, 8, &c.Inventory, running)
		uns(w, 9, &c.Taken)
		w.strs(10, &c.Warnings)
		w.str(11, &c.GossipAddr)
		w.strs(12, &c.Servers)
		w.str(13, &c.Containment)
	}),
	of(51, func(w *wire, c *fsm.LeaveHost) {
		w.str(1, &c.Key)
		w.str(2, &c.Boot)
	}),
	of(52, func(w *wire, c *fsm.SuspectHost) {
		uns(w, 1, &c.Host)
		w.bool(2, &c.Suspect)
		w.str(3, &c.Reason)
	}),
	of(53, func(w *wire, c *fsm.AcceptOrder) {
		uns(w, 1, &c.Host)
		w.str(2, &c.Boot)
		uns(w, 3, &c.Agent)
		uns(w, 4, &c.Inc)
		w.bytes(5, &c.TokenHash)
	}),
	of(54, func(w *wire, c *fsm.ReportStarted) {
		uns(w, 1, &c.Host)
		uns(w, 2, &c.Agent)
		uns(w, 3, &c.Inc)
		uns(w, 4, &c.PID)
	}),
	of(55, func(w *wire, c *fsm.ReportExit) {
		uns(w, 1, &c.Host)
		uns(w, 2, &c.Agent)
		uns(w, 3, &c.Inc)
		uns(w, 4, &c.Kind)
		sig(w, 5, &c.Code)
		w.str(6, &c.Signal)
		w.str(7, &c.Reason)
		w.str(8, &c.Tail)
		sig(w, 9, &c.RetryAfter)
	}),
	of(56, func(w *wire, c *fsm.DrainHost) {
		uns(w, 1, &c.Host)
		w.bool(2, &c.Off)
		sig(w, 3, &c.Deadline)
		w.str(4, &c.By)
		sig(w, 5, &c.For)
	}),
	of(57, func(w *wire, c *fsm.ConfirmDead) {
		uns(w, 1, &c.Host)
		w.bool(2, &c.Force)
		w.str(3, &c.By)
	}),
	of(58, func(w *wire, c *fsm.ForgetHost) {
		uns(w, 1, &c.Host)
		w.str(2, &c.By)
	}),
	of(59, func(w *wire, c *fsm.ReportViews) {
		w.str(1, &c.Server)
		list(w, 2, &c.Views, hostView)
		w.bool(3, &c.All)
	}),
	of(60, func(w *wire, c *fsm.OrderStart) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Inc)
		uns(w, 3, &c.Host)
	}),
	of(61, func(w *wire, c *fsm.OrderStop) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Inc)
		w.str(3, &c.Reason)
	}),
	of(62, func(w *wire, c *fsm.CancelOrder) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Inc)
		w.str(3, &c.Reason)
	}),
	of(63, func(w *wire, c *fsm.SurrenderHost) {
		uns(w, 1, &c.Host)
		w.str(2, &c.Reason)
	}),
	of(64, func(w *wire, c *fsm.ReportPressure) {
		uns(w, 1, &c.Host)
		w.str(2, &c.Boot)
		w.str(3, &c.Reason)
	}),
	of(65, func(w *wire, c *fsm.ReportStuck) {
		uns(w, 1, &c.Host)
		uns(w, 2, &c.Agent)
		uns(w, 3, &c.Inc)
		w.str(4, &c.Reason)
	}),
	of(66, func(w *wire, c *fsm.NoteNudge) {
		w.str(1, &c.Agent)
		w.str(2, &c.By)
		w.str(3, &c.Reason)
		uns(w, 4, &c.IfRev)
	}),
	of(80, func(w *wire, c *fsm.ReportScreen) {
		uns(w, 1, &c.Host)
		uns(w, 2, &c.Agent)
		uns(w, 3, &c.Inc)
		uns(w, 4, &c.Kind)
		w.bool(5, &c.Quiet)
	}),
	of(81, func(w *wire, c *fsm.ReportTerminals) {
		uns(w, 1, &c.Host)
		w.str(2, &c.Boot)
		w.str(3, &c.Tool)
		w.str(4, &c.Why)
		w.strs(5, &c.Runners)
		w.strs(6, &c.Watched)
	}),
	of(119, func(w *wire, c *fsm.ReportKept) {
		uns(w, 1, &c.Host)
		w.str(2, &c.Boot)
		uns(w, 3, &c.Bytes)
		uns(w, 4, &c.Removable)
		sig(w, 5, &c.Oldest)
	}),
}
