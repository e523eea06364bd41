package cluster

import "vigil/fsm"

// putLadder and getLadder serve the ladder for stuck agents.
func putLadder(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.StepLadder:
		at = w.open(67)
		stepLadder(w, &c)
	case fsm.NoteRung:
		at = w.open(68)
		noteRung(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getLadder(w *wire, n number) fsm.Command {
	switch n {
	case 67:
		return get(w, stepLadder)
	case 68:
		return get(w, noteRung)
	}
	return nil
}

func stepLadder(w *wire, c *fsm.StepLadder) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	uns(w, 3, &c.Rung)
	sig(w, 4, &c.Seen)
}

func noteRung(w *wire, c *fsm.NoteRung) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	uns(w, 3, &c.Rung)
	w.str(4, &c.Reason)
}
