package record

import (
	"vigil/fsm"
)

// words has the records about words of incarnations.
var words = []kind{
	of(30, func(w *wire, c *fsm.Join) { speaker(w, &c.Speaker) }),
	of(31, func(w *wire, c *fsm.Leave) {
		speaker(w, &c.Speaker)
		w.str(6, &c.Reason)
	}),
	of(32, func(w *wire, c *fsm.Claim) {
		speaker(w, &c.Speaker)
		uns(w, 4, &c.Task)
		w.bool(5, &c.Start)
	}),
	of(33, func(w *wire, c *fsm.StartTask) { work(w, &c.Work) }),
	of(34, func(w *wire, c *fsm.ProgressTask) {
		work(w, &c.Work)
		w.str(6, &c.Note)
		uns(w, 50, &c.Percent)
		sig(w, 51, &c.Expect)
	}),
	of(35, func(w *wire, c *fsm.CompleteTask) {
		completeTask(w, c)
		then(w, 7, &c.Then)
	}),
	of(36, func(w *wire, c *fsm.FailTask) {
		work(w, &c.Work)
		w.str(6, &c.Reason)
		w.bool(7, &c.Retryable)
		sig(w, 8, &c.After)
		then(w, 9, &c.Then)
		w.str(11, &c.Result)
	}),
	of(37, func(w *wire, c *fsm.Handoff) {
		work(w, &c.Work)
		w.str(6, &c.Result)
		w.str(7, &c.ToRole)
		w.str(8, &c.Title)
		w.str(9, &c.Text)
		sig(w, 10, &c.Priority)
		then(w, 11, &c.Then)
	}),
	of(38, func(w *wire, c *fsm.SetResume) {
		speaker(w, &c.Speaker)
		w.str(6, &c.Resume)
	}),
	of(39, func(w *wire, c *fsm.Declare) {
		speaker(w, &c.Speaker)
		uns(w, 6, &c.Status)
		uns(w, 7, &c.Waiting)
		sig(w, 8, &c.For)
		w.str(9, &c.Text)
		uns(w, 10, &c.Seq)
	}),
	of(45, func(w *wire, c *fsm.SendMail) {
		speaker(w, &c.Speaker)
		w.str(6, &c.From)
		w.str(7, &c.To)
		w.str(8, &c.Subject)
		w.str(9, &c.Body)
		w.str(10, &c.Kind)
		uns(w, 11, &c.Priority)
		uns(w, 12, &c.Thread)
		uns(w, 13, &c.ReplyTo)
		w.bool(14, &c.NoQueue)
	}),
	of(46, func(w *wire, c *fsm.ReadMail) {
		speaker(w, &c.Speaker)
		uns(w, 6, &c.Max)
	}),
	of(47, func(w *wire, c *fsm.AckMail) {
		speaker(w, &c.Speaker)
		uns(w, 6, &c.Mail)
	}),
	of(76, func(w *wire, c *fsm.ReportPatrol) {
		speaker(w, &c.Speaker)
		uns(w, 6, &c.Cycle)
		w.str(7, &c.Action)
		uns(w, 8, &c.Healthy)
		uns(w, 9, &c.Unhealthy)
	}),
	of(78, func(w *wire, c *fsm.HandOver) {
		speaker(w, &c.Speaker)
		w.str(6, &c.Subject)
		w.str(7, &c.Body)
	}),
}

func completeTask(w *wire, c *fsm.CompleteTask) {
	work(w, &c.Work)
	w.str(6, &c.Result)
}

// then has two fields, the first of this number.
func then(w *wire, first number, c *fsm.Then) {
	w.bool(first, &c.Next)
	w.bool(first+1, &c.Start)
}
