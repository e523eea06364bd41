package cluster

import "vigil/fsm"

// putScreen and getScreen serve what hosts see on terminals.
func putScreen(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.ReportScreen:
		at = w.open(80)
		reportScreen(w, &c)
	case fsm.ReportTerminals:
		at = w.open(81)
		reportTerminals(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getScreen(w *wire, n number) fsm.Command {
	switch n {
	case 80:
		return get(w, reportScreen)
	case 81:
		return get(w, reportTerminals)
	}
	return nil
}

func reportScreen(w *wire, c *fsm.ReportScreen) {
	uns(w, 1, &c.Host)
	uns(w, 2, &c.Agent)
	uns(w, 3, &c.Inc)
	uns(w, 4, &c.Kind)
	w.bool(5, &c.Quiet)
}

func reportTerminals(w *wire, c *fsm.ReportTerminals) {
	uns(w, 1, &c.Host)
	w.str(2, &c.Boot)
	w.str(3, &c.Tool)
	w.str(4, &c.Why)
	w.strs(5, &c.Runners)
	w.strs(6, &c.Watched)
}
