package cluster

import "vigil/fsm"

// putEscalation and getEscalation serve escalations.
func putEscalation(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.AckEscalation:
		at = w.open(71)
		ackEscalation(w, &c)
	case fsm.CloseEscalation:
		at = w.open(72)
		closeEscalation(w, &c)
	case fsm.NoteNotice:
		at = w.open(73)
		noteNotice(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getEscalation(w *wire, n number) fsm.Command {
	switch n {
	case 71:
		return get(w, ackEscalation)
	case 72:
		return get(w, closeEscalation)
	case 73:
		return get(w, noteNotice)
	}
	return nil
}

func ackEscalation(w *wire, c *fsm.AckEscalation) {
	uns(w, 1, &c.Escalation)
	w.str(2, &c.By)
}

func closeEscalation(w *wire, c *fsm.CloseEscalation) {
	uns(w, 1, &c.Escalation)
	w.str(2, &c.By)
	w.str(3, &c.Note)
}

func noteNotice(w *wire, c *fsm.NoteNotice) {
	uns(w, 1, &c.Escalation)
	uns(w, 2, &c.Notice)
	w.str(3, &c.Notifier)
	w.str(4, &c.Failure)
	w.strs(5, &c.Notifiers)
}
