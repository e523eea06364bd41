package record

import (
	"vigil/fsm"
)

// watch has the records about supervision.
var watch = []kind{
	of(67, func(w *wire, c *fsm.StepLadder) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Inc)
		uns(w, 3, &c.Rung)
		sig(w, 4, &c.Seen)
	}),
	of(68, func(w *wire, c *fsm.NoteRung) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Inc)
		uns(w, 3, &c.Rung)
		w.str(4, &c.Reason)
	}),
	of(71, func(w *wire, c *fsm.AckEscalation) {
		uns(w, 1, &c.Escalation)
		w.str(2, &c.By)
	}),
	of(72, func(w *wire, c *fsm.CloseEscalation) {
		uns(w, 1, &c.Escalation)
		w.str(2, &c.By)
		w.str(3, &c.Note)
	}),
	of(73, func(w *wire, c *fsm.NoteNotice) {
		uns(w, 1, &c.Escalation)
		uns(w, 2, &c.Notice)
		w.str(3, &c.Notifier)
		w.str(4, &c.Failure)
		w.strs(5, &c.Notifiers)
	}),
	of(77, func(w *wire, c *fsm.LookAtOverseer) {
		w.str(1, &c.Agent)
		w.str(2, &c.By)
	}),
	of(79, func(w *wire, c *fsm.ProdOverseer) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Inc)
		sig(w, 3, &c.At)
	}),
	of(83, func(w *wire, c *fsm.NoteProd) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Inc)
		w.str(3, &c.Reason)
	}),
	of(84, func(w *wire, c *fsm.AnswerLook) {
		completeTask(w, &c.CompleteTask)
		uns(w, 7, &c.Decision)
		w.str(8, &c.Reason)
		then(w, 9, &c.Then)
	}),
	of(112, func(w *wire, c *fsm.LiftBudget) {
		w.str(1, &c.Room)
		w.str(2, &c.Role)
		w.str(3, &c.By)
	}),
	of(115, func(w *wire, c *fsm.TakeTerminal) {
		w.str(1, &c.Agent)
		w.str(2, &c.By)
		uns(w, 3, &c.IfRev)
	}),
	of(116, func(w *wire, c *fsm.KeepTerminal) {
		uns(w, 1, &c.Agent)
		uns(w, 2, &c.Grant)
	}),
	of(117, func(w *wire, c *fsm.ReleaseTerminal) {
		w.str(1, &c.Agent)
		uns(w, 2, &c.Grant)
		w.str(3, &c.By)
	}),
}
