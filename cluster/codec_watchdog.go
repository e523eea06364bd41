package cluster

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// putWatchdog and getWatchdog serve the conversation watchdog.
func putWatchdog(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.WarnRoom:
		at = w.open(90)
		warnRoom(w, &c)
	case fsm.CancelIdleRoom:
		at = w.open(91)
		cancelIdleRoom(w, &c)
	case fsm.ReopenRoom:
		at = w.open(92)
		reopenRoom(w, &c)
	case fsm.SetRoomWatch:
		at = w.open(93)
		setRoomWatch(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getWatchdog(w *wire, n number) fsm.Command {
	switch n {
	case 90:
		return get(w, warnRoom)
	case 91:
		return get(w, cancelIdleRoom)
	case 92:
		return get(w, reopenRoom)
	case 93:
		return get(w, setRoomWatch)
	}
	return nil
}

func roomWatch(w *wire, c *noun.RoomWatch) {
	sig(w, 1, &c.IdleLimit)
	sig(w, 2, &c.Deadline)
	w.bool(3, &c.Disabled)
}

func warnRoom(w *wire, c *fsm.WarnRoom) {
	uns(w, 1, &c.Room)
	sig(w, 2, &c.Active)
}

func cancelIdleRoom(w *wire, c *fsm.CancelIdleRoom) {
	uns(w, 1, &c.Room)
	sig(w, 2, &c.Active)
	sig(w, 3, &c.Warned)
}

func reopenRoom(w *wire, c *fsm.ReopenRoom) {
	w.str(1, &c.Room)
	w.str(2, &c.By)
	uns(w, 3, &c.IfRev)
}

func setRoomWatch(w *wire, c *fsm.SetRoomWatch) {
	w.str(1, &c.Room)
	w.str(2, &c.By)
	uns(w, 3, &c.IfRev)
	sig(w, 4, &c.IdleLimit)
	sig(w, 5, &c.Deadline)
	w.bool(6, &c.Disabled)
}
