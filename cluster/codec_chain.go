package cluster

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// putChain and getChain serve overseers.
func putChain(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.ReportPatrol:
		at = w.open(76)
		reportPatrol(w, &c)
	case fsm.LookAtOverseer:
		at = w.open(77)
		lookAtOverseer(w, &c)
	case fsm.HandOver:
		at = w.open(78)
		handOver(w, &c)
	case fsm.ProdOverseer:
		at = w.open(79)
		prodOverseer(w, &c)
	case fsm.NoteProd:
		at = w.open(83)
		noteProd(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getChain(w *wire, n number) fsm.Command {
	switch n {
	case 76:
		return get(w, reportPatrol)
	case 77:
		return get(w, lookAtOverseer)
	case 78:
		return get(w, handOver)
	case 79:
		return get(w, prodOverseer)
	case 83:
		return get(w, noteProd)
	}
	return nil
}

func overseerSpec(w *wire, c *noun.OverseerSpec) {
	w.str(1, &c.Triage)
	uns(w, 2, &c.HandoffAfter)
	sig(w, 3, &c.Fresh)
	sig(w, 4, &c.Stale)
}

func reportPatrol(w *wire, c *fsm.ReportPatrol) {
	speaker(w, &c.Speaker)
	uns(w, 6, &c.Cycle)
	w.str(7, &c.Action)
	uns(w, 8, &c.Healthy)
	uns(w, 9, &c.Unhealthy)
}

func lookAtOverseer(w *wire, c *fsm.LookAtOverseer) {
	w.str(1, &c.Agent)
	w.str(2, &c.By)
}

func handOver(w *wire, c *fsm.HandOver) {
	speaker(w, &c.Speaker)
	w.str(6, &c.Subject)
	w.str(7, &c.Body)
}

func prodOverseer(w *wire, c *fsm.ProdOverseer) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	sig(w, 3, &c.At)
}

func noteProd(w *wire, c *fsm.NoteProd) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	w.str(3, &c.Reason)
}
